package core

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"bellhop/protocol"
)

// Bounds of the turns that wait in a session's memory. One prompt alone may have
// any size that the host accepts.
const (
	maxQueued      = 16
	maxQueuedBytes = 2 * protocol.MaxLine
)

// Queued is a turn whose prompt came while another was open. It stays when its
// client leaves. It is lost when the host ends, and then counts as not started.
type Queued struct {
	Record    TurnRecord
	Request   protocol.PromptRequest
	Journaled string // the prompt as it is journaled, masked
}

func (q *Queued) size() int {
	n := len(q.Request.Prompt)
	for _, a := range q.Request.Attachments {
		n += len(a.Data)
	}
	return n
}

// Place is where a turn is when its prompt comes.
type Place int

// Places of turns.
const (
	PlaceNew       Place = iota // of a grant without a turn
	PlaceAnnounced              // may be started
	PlaceQueued                 // waits
	PlaceOpen
	PlaceGone // finished, superseded or never known
)

// Place returns where a turn is. "" stands for a new turn, which needs no announcement.
func (s *State) Place(turnID string) Place {
	switch {
	case turnID == "":
		return PlaceNew
	case s.Position(turnID) > 0:
		return PlaceQueued
	case s.Announced != nil && s.Announced.ID == turnID:
		return PlaceAnnounced
	case s.OpenTurn() == turnID:
		return PlaceOpen
	default:
		return PlaceGone
	}
}

// Position returns the position of a turn in the queue, from 1, or 0 if it is not queued.
func (s *State) Position(turnID string) int {
	return 1 + slices.IndexFunc(s.Queue, func(q Queued) bool { return q.Record.ID == turnID })
}

// QueuedTurns are the ids of the queued turns, the next first.
func (s *State) QueuedTurns() []string {
	ids := make([]string, 0, len(s.Queue))
	for i := range s.Queue {
		ids = append(ids, s.Queue[i].Record.ID)
	}
	return ids
}

func (in Prompted) apply(x *Step) error {
	s := &x.State
	switch {
	case in.Line && s.Turn != nil:
		return &protocol.Error{
			Code: protocol.CodeBusy, Message: "An input is being worked on",
			Hint: "Wait for waiting_for_input, or send interrupt",
		}
	case in.ReadOnly:
		return ErrReadOnly()
	}
	rec := TurnRecord{SessionID: s.ID, ID: in.TurnID, Announced: x.now}
	if !in.New {
		if s.Place(in.TurnID) != PlaceAnnounced {
			return errNoTurn("The turn of this token is over")
		}
		rec = *s.Announced
	}
	if err := checkPrompt(&rec, &in.Request); err != nil {
		return err
	}
	if s.Attached(x.now) && !in.Request.Force {
		return errAttached()
	}
	q := Queued{Record: rec, Request: in.Request, Journaled: in.Journaled}
	busy := s.Turn != nil || len(s.Queue) > 0 // between two turns a queued one is about to start
	waits := in.Request.WhenBusy == protocol.WhenBusyQueue || in.Request.WhenBusy == protocol.WhenBusyInterrupt
	switch {
	case busy && waits:
		return x.queue().enqueue(q, in.HostStopping)
	case busy:
		return &protocol.Error{
			Code: protocol.CodeBusy, Message: "A turn is open",
			Hint: "Wait for it to end, interrupt it, or send whenBusy",
		}
	}
	return x.turns().open(q, in.Instructions, in.HostStopping)
}

// ErrReadOnly refuses a prompt of a grant that may start no turn.
func ErrReadOnly() error {
	return errNoTurn("This token reads, answers and interrupts; it starts no turn")
}

// ErrSuperseded refuses a prompt for a turn that was never started.
func ErrSuperseded() error { return errNoTurn("The turn was superseded, or its time is over") }

func checkPrompt(rec *TurnRecord, req *protocol.PromptRequest) error {
	if req.Prompt == "" && len(req.Attachments) == 0 {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "prompt is required"}
	}
	if rec.PromptSHA256 == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(req.Prompt))
	if hex.EncodeToString(sum[:]) != rec.PromptSHA256 {
		return &protocol.Error{
			Code: protocol.CodePromptMismatch, Message: "This is not the prompt that was checked in",
			Hint: "Send exactly the message of the check-in",
		}
	}
	return nil
}

// enqueue makes a turn wait for the open one, which WhenBusyInterrupt ends at once.
func (x queueStep) enqueue(q Queued, hostStopping bool) error {
	s := &x.State
	if !s.fits(&q) {
		return &protocol.Error{
			Code: protocol.CodeBusy, Message: "Too many turns are waiting already", Hint: "Wait for one to end, or interrupt it",
		}
	}
	if hostStopping {
		return ErrStopping()
	}
	if q.Request.WhenBusy == protocol.WhenBusyInterrupt && q.Record.Reason == "" { // a stopped turn ends no other
		s.Queue = append([]Queued{q}, s.Queue...)
		x.effect(Interrupt{protocol.ReasonAborted})
	} else {
		s.Queue = append(slices.Clone(s.Queue), q)
	}
	if s.Announced != nil && s.Announced.ID == q.Record.ID {
		x.announce(nil) // from here on no other turn supersedes it
	}
	return nil
}

// fits reports whether q may wait too.
func (s *State) fits(q *Queued) bool {
	total := q.size()
	for i := range s.Queue {
		total += s.Queue[i].size()
	}
	return len(s.Queue) == 0 || len(s.Queue) < maxQueued && total <= maxQueuedBytes
}

func (in QueueAdvanced) apply(x *Step) error {
	if x.State.Turn != nil || len(x.State.Queue) == 0 {
		return nil
	}
	q := x.State.Queue[0]
	x.State.Queue = x.State.Queue[1:]
	return x.turns().open(q, in.Instructions, in.HostStopping)
}

func (in QueueDropped) apply(x *Step) error {
	if len(x.State.Queue) == 0 {
		return nil
	}
	q := x.State.Queue[0]
	x.State.Queue = x.State.Queue[1:]
	x.effect(EndQueued{q.Record.ID})
	if !in.Unwritten && !q.Record.Expires.IsZero() { // no broker knows a turn without an announcement
		x.queue().notStarted(q.Record)
	}
	return nil
}

// announce makes rec the only turn that may be started next. With nil, none may be started.
func (x queueStep) announce(rec *TurnRecord) {
	x.State.Announced = rec
	if rec == nil {
		x.effect(StopTimer{TimerAnnounced})
		return
	}
	x.effect(SetTimer{Name: TimerAnnounced, After: rec.Expires.Sub(x.now)})
}

// stopsAnnounced reports whether a user who stops the turn, or with "" the session, means the announced turn.
// While a turn is open or waits, "" means that one.
func (x queueStep) stopsAnnounced(turnID string) bool {
	s := &x.State
	if s.Announced == nil {
		return false
	}
	return turnID == s.Announced.ID || turnID == "" && s.Turn == nil && len(s.Queue) == 0
}

// stopAnnounced remembers in the announced turn's row why the turn is stopped. The turn stays announced, because
// its client may have sent the prompt already.
func (x queueStep) stopAnnounced(reason string) {
	if x.State.Announced.Reason != "" {
		return
	}
	rec := *x.State.Announced
	rec.Reason = reason
	x.Rows.Turns = append(x.Rows.Turns, rec)
	x.State.Announced = &rec
}

// notStarted ends an announced turn. It has no stream, so its finish has no part.
func (x queueStep) notStarted(rec TurnRecord) {
	rec.State, rec.Finished = TurnFinished, x.now
	rec.FinishReason, rec.Reason = protocol.FinishOther, protocol.ReasonNotStarted
	x.Rows.Turns = append(x.Rows.Turns, rec)
	x.event(rec.ID, protocol.Event{
		Type: protocol.EventFinish, FinishReason: rec.FinishReason, Reason: rec.Reason,
	}, nil, false)
	if a := x.State.Announced; a != nil && a.ID == rec.ID {
		x.announce(nil)
	}
}

func (in AnnouncementExpired) apply(x *Step) error {
	if a := x.State.Announced; a != nil && a.ID == in.TurnID && a.Expires.Equal(in.Expires) {
		x.queue().notStarted(*a)
	}
	return nil
}

// announceRequested announces the turn of a check-in. known is whether the journal has the
// turn: then it is over, unless it is still announced, and is not announced again. Its token
// still replays it. A turn that is announced again is not stopped any more: its message was checked in again.
func (x queueStep) announceRequested(turn *protocol.AnnouncedTurn, known bool, expires time.Time) {
	s := &x.State
	if turn == nil || s.OpenTurn() == turn.ID || s.Position(turn.ID) > 0 {
		return
	}
	rec := TurnRecord{SessionID: s.ID, ID: turn.ID, State: TurnAnnounced, Announced: x.now}
	if a := s.Announced; a != nil && a.ID == turn.ID {
		rec = *a
	} else {
		if known {
			return
		}
		if a != nil {
			x.notStarted(*a)
		}
	}
	rec.PromptSHA256, rec.MessageID, rec.Expires, rec.Reason = turn.PromptSHA256, turn.MessageID, expires, ""
	x.Rows.Turns = append(x.Rows.Turns, rec)
	x.announce(&rec)
}
