package core

import (
	"fmt"
	"strconv"
	"time"

	"bellhop/protocol"
)

// offsetBlock is how many frame offsets one reservation covers. A restart
// continues at the reserved bound, so no offset names two frames.
const offsetBlock = 4096

// Moment holds the values of a step that come neither from the state nor from the input.
type Moment struct {
	Time time.Time
	// ID is a new id, unique among all ids. Further ids of the step are derived from it.
	ID string
	// Held is text of the open turn that may be the beginning of a secret, masked
	// as if it were complete. A step that closes a block takes it, see Step.Flushed.
	Held Held
}

// Held is text that was reported and is not yet part of a block.
type Held struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// Frame is one part of the stream. After a boundary no text or reasoning block is
// open, so a reader can begin with the next frame.
type Frame struct {
	ID       protocol.StreamID
	Part     []byte // JSON
	Boundary bool
}

// frameOverhead is about what a frame needs in memory besides its part.
const frameOverhead = 108

func (f *Frame) size() int { return len(f.Part) + frameOverhead }

// Step is what one input changes: the state after it, the rows to write before
// that state holds, the frames to publish and the effects to run afterwards.
type Step struct {
	State   State
	Rows    Write // nothing to write when Rows.Session is nil and Rows.DropSession is false
	Frames  []Frame
	Effects []Effect
	// Flushed are the kinds of held text that the frames contain now.
	Flushed [2]bool // by BlockKind
	// Window replaces the id before the session's first kept frame; nil: unchanged.
	Window *protocol.StreamID

	now     time.Time
	id      string
	ids     int
	held    Held
	touched bool // State.Record was changed
	ownTurn bool // State.Turn belongs to this step alone
	effects [4]Effect
	err     error
}

// Apply decides what an input changes. An error leaves everything as it was; its
// code and message are the response to the sender of the input.
func (s *State) Apply(at Moment, in Input) (*Step, error) {
	x := &Step{State: *s, now: at.Time, id: at.ID, held: at.Held}
	x.Rows.SessionID, x.Effects = s.ID, x.effects[:0]
	if s.Deleted { // its row must not return
		return nil, errNotFound()
	}
	if err := in.apply(x); err != nil {
		return nil, err
	}
	if x.err != nil {
		return nil, fmt.Errorf("encode: %w", x.err)
	}
	x.seal()
	return x, nil
}

// seal completes the row of the session and decides whether anything is written.
func (x *Step) seal() {
	s := &x.State
	if x.Rows.DropSession {
		return
	}
	if s.Record.Outbox == OutboxNone { // no broker acknowledges anything
		s.Record.Acked = s.Record.Cursor
	}
	added := int64(len(x.Rows.Events) - len(x.Rows.DropEvents))
	s.Pending = max(s.Pending+added, added)
	if s.Record.Outbox == OutboxNone {
		s.Pending = 0
	}
	reserve := s.Next > s.Record.OffsetReserved
	if reserve {
		s.Record.OffsetReserved = s.Next + offsetBlock
	}
	if reserve || x.durable() {
		s.Record.ActiveAt = x.now
		x.Rows.Session = &s.Record
		s.Delivery.Unsaved = false
		s.Durable = true
	}
	if len(x.Rows.Events) > 0 {
		x.effect(Post{})
	}
}

// durable reports whether the step has more than frames: most steps are text
// deltas, which cost no write.
func (x *Step) durable() bool {
	w := &x.Rows
	return x.touched ||
		len(w.Events)+len(w.Turns)+len(w.Interactions)+len(w.Tokens)+len(w.DeadLetters)+len(w.DropEvents) > 0 ||
		w.DropAllTokens
}

// record is the session's row, to be changed and written.
func (x *Step) record() *SessionRecord {
	x.touched = true
	return &x.State.Record
}

// turn is the open turn, to be changed.
func (x *Step) turn() *Turn {
	if !x.ownTurn {
		t := *x.State.Turn
		x.State.Turn, x.ownTurn = &t, true
	}
	return x.State.Turn
}

func (x *Step) effect(e Effect) { x.Effects = append(x.Effects, e) }

func (x *Step) warn(message string, attrs ...any) { x.effect(Warn{message, attrs}) }

// newID is the next id of the step. The first is the input's own; the others
// count up its last 12 hexadecimal digits, so ids of a step stay in order.
func (x *Step) newID() string {
	n := x.ids
	x.ids++
	if n == 0 {
		return x.id
	}
	if cut := len(x.id) - 12; cut >= 0 {
		if tail, err := strconv.ParseUint(x.id[cut:], 16, 64); err == nil {
			return fmt.Sprintf("%s%012x", x.id[:cut], (tail+uint64(n))&(1<<48-1))
		}
	}
	return x.id + "-" + strconv.Itoa(n)
}

// frame adds a part to the stream.
func (x *Step) frame(p *protocol.Part, boundary bool) { x.rawFrame(x.encode(p), boundary) }

func (x *Step) rawFrame(part []byte, boundary bool) protocol.StreamID {
	s := &x.State
	s.Last = protocol.StreamID{Epoch: s.Record.Cursor.Epoch, Offset: s.Next}
	s.Next++
	x.Frames = append(x.Frames, Frame{ID: s.Last, Part: part, Boundary: boundary})
	f := &x.Frames[len(x.Frames)-1]
	if s.Turn != nil && s.Turn.Text.open {
		x.turn().Text.block.frames += f.size()
	}
	return f.ID
}

// event appends an event and, if it has one, the part that announces it.
func (x *Step) event(turnID string, e protocol.Event, p *protocol.Part, boundary bool) {
	cursor := &x.State.Record.Cursor
	cursor.Seq++
	e.SessionID, e.TurnID, e.EventID = x.State.ID, turnID, x.newID()
	e.Epoch, e.Seq = cursor.Epoch, cursor.Seq
	if len(e.Timestamp) == 0 {
		e.Timestamp = x.timestamp()
	}
	row := EventRecord{
		SessionID: x.State.ID, Cursor: *cursor, EventID: e.EventID, TurnID: turnID, Type: e.Type, Body: x.encode(&e),
	}
	if p != nil {
		p.Event = &protocol.PartEvent{ID: e.EventID, Seq: e.Seq, TurnID: turnID}
		row.Part = x.encode(p)
		row.Frame = x.rawFrame(row.Part, boundary)
	}
	x.Rows.Events = append(x.Rows.Events, row)
}

func (x *Step) timestamp() []byte { return strconv.AppendInt(nil, x.now.UnixMilli(), 10) }

func (x *Step) encode(v any) []byte {
	raw, err := protocol.Marshal(v)
	if err != nil && x.err == nil {
		x.err = err
	}
	return raw
}

// The parts of a step. Each has the methods of one part of the state, in the file of
// that part.
type (
	epochStep    struct{ *Step }
	turnStep     struct{ *Step }
	textStep     struct{ *Step }
	callStep     struct{ *Step }
	questionStep struct{ *Step }
	queueStep    struct{ *Step }
	deliveryStep struct{ *Step }
)

func (x *Step) epochs() epochStep       { return epochStep{x} }
func (x *Step) turns() turnStep         { return turnStep{x} }
func (x *Step) texts() textStep         { return textStep{x} }
func (x *Step) calls() callStep         { return callStep{x} }
func (x *Step) questions() questionStep { return questionStep{x} }
func (x *Step) queue() queueStep        { return queueStep{x} }
func (x *Step) delivery() deliveryStep  { return deliveryStep{x} }
