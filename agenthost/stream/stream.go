package stream

import (
	"bellhop/internal/failpoint"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// Stream is one session's frames and readers. Make it with New. The session's lock
// covers every call.
type Stream struct {
	window window
	turn   *sse.Fanout // readers that leave when the open turn ends; nil: no turn is open
	follow *sse.Fanout // readers that stay between turns
	newest int64       // first offset of the open turn or, without one, of the last
}

// New returns a stream without frames.
func New() Stream { return Stream{follow: sse.NewFanout()} }

// Last returns the id of the newest frame, or of the frame before the first; it equals
// no frame's id if that is unknown.
func (s *Stream) Last() protocol.StreamID { return s.window.last() }

// ContinueAfter sets the id of the frame before the next one; an id of a negative epoch
// means that it is unknown, so that no cursor resumes exactly. The stream has no frames
// yet.
func (s *Stream) ContinueAfter(id protocol.StreamID) { s.window.prev = id }

// BeginTurn adds the readers of a turn, whose first frame has the offset. Frames of
// turns before the last are dropped.
func (s *Stream) BeginTurn(readers *sse.Fanout, offset int64) {
	s.window.dropBefore(s.newest)
	s.newest, s.turn = offset, readers
}

// EndTurn ends the turn's readers once they have read all published frames.
func (s *Stream) EndTurn() {
	if s.turn != nil {
		s.turn.Close()
		s.turn = nil
	}
}

// Publish adds a frame and sends it to every reader. It never waits for one.
func (s *Stream) Publish(f Frame) {
	s.window.add(f)
	if failpoint.MutatedOnce("live-frame-lost", 60) {
		return
	}
	s.Send(f.Data)
}

// Send sends an encoded frame to every reader without making it part of the sequence:
// no cursor gets it again.
func (s *Stream) Send(data []byte) {
	if s.turn != nil {
		s.turn.Publish(data)
	}
	s.follow.Publish(data)
}

// Forget drops every frame from memory. A cursor at the end still resumes exactly,
// earlier ones get their turn from the journal.
func (s *Stream) Forget() { s.window.drop(len(s.window.frames)) }

// Cut ends every reader; new ones may join.
func (s *Stream) Cut() {
	s.follow.Cut()
	if s.turn != nil {
		s.turn.Cut()
	}
}

// Close ends every reader, for good.
func (s *Stream) Close() {
	s.follow.Close()
	if s.turn != nil {
		s.turn.Close()
	}
}

// subscribe joins the session's readers or those of the open turn; nil if there is
// nothing to wait for.
func (s *Stream) subscribe(follow bool) *sse.Subscription {
	switch {
	case follow:
		return s.follow.Subscribe()
	case s.turn != nil:
		return s.turn.Subscribe()
	default:
		return nil
	}
}
