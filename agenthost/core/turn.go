package core

import (
	"encoding/json"
	"slices"

	"bellhop/protocol"
)

// Turn is a started, unfinished turn.
type Turn struct {
	Record TurnRecord
	Before protocol.StreamID // the frame before its first
	Text   Blocks
	Calls  Calls
	Stop   string // why it is being stopped, "" while it is not
	Lost   bool   // the connection to the agent is lost
	// Failure is why its output could not be written; nil: all of it was.
	Failure *protocol.Error

	agent, project string // what the agent was opened for, once it runs
}

// Stopping reports whether the turn was interrupted or is over.
func (s *State) Stopping(turnID string) bool {
	return s.Turn == nil || s.Turn.Record.ID != turnID || s.Turn.Stop != ""
}

// open starts a turn that was announced, queued or is new.
func (x turnStep) open(q Queued, instructions string, hostStopping bool) error {
	s := &x.State
	if s.Record.Outbox == OutboxStopped {
		return errNoTurn("The session has stopped: " + s.Record.OutboxError)
	}
	if hostStopping {
		return ErrStopping()
	}
	rec := q.Record
	rec.State, rec.Started, rec.FirstOffset = TurnOpen, x.now, s.Next
	rec.Reason = ""
	turn := &Turn{Record: rec, Before: s.Last, Stop: q.Record.Reason}
	x.Rows.Turns = append(x.Rows.Turns, rec)
	x.writePrompt(q)
	x.status(rec.ID, protocol.StatusBusy, "")
	x.delivery().sendPrompt()
	x.effect(StopTimer{TimerIdle})
	if s.Announced != nil && s.Announced.ID == rec.ID {
		x.queue().announce(nil)
	}
	s.Turn, x.ownTurn = turn, true
	x.delivery().armRenewal(0)
	if s.Next+offsetBlock/8 > s.Record.OffsetReserved { // in the same write
		s.Record.OffsetReserved = s.Next + offsetBlock
	}
	text := q.Request.Prompt
	if instructions != "" {
		text = instructions + "\n\n" + text
	}
	x.effect(StartAgent{TurnID: rec.ID, Prompt: Prompt{TurnID: rec.ID, Text: text, Attachments: q.Request.Attachments}})
	return nil
}

// writePrompt stores the prompt of a turn, without the data of its attachments.
func (x turnStep) writePrompt(q Queued) {
	if !x.State.Headless() { // a broker has the messages; this is for an agent without a memory
		x.Rows.Prompts = append(x.Rows.Prompts, PromptRecord{SessionID: x.State.ID, TurnID: q.Record.ID, Text: q.Journaled})
		return
	}
	text := protocol.SanitizeText(q.Request.Prompt)
	e := protocol.Event{Type: EventInput, Text: &text}
	if len(q.Request.Attachments) > 0 {
		kept := slices.Clone(q.Request.Attachments)
		for i := range kept {
			kept[i].Data = ""
		}
		e.Input = x.encode(kept)
	}
	x.event(q.Record.ID, e, nil, false)
}

func (in AgentStarted) apply(x *Step) error {
	if err := x.turns().requireOpen(in.TurnID); err != nil {
		return err
	}
	t := x.turn()
	t.agent, t.project = in.Agent, in.Project
	return nil
}

// requireOpen returns CodeNoTurn if the turn is not open.
func (x turnStep) requireOpen(turnID string) error {
	if !x.isOpen(turnID) {
		return protocol.Errorf(protocol.CodeNoTurn, "The turn is over")
	}
	return nil
}

func (x turnStep) isOpen(turnID string) bool {
	return turnID != "" && x.State.OpenTurn() == turnID
}

// requireWritable returns CodeNoTurn if the turn is not open, or the turn's failure if its output
// can no longer be written.
func (x turnStep) requireWritable(turnID string) error {
	if err := x.requireOpen(turnID); err != nil {
		return err
	}
	if failure := x.State.Turn.Failure; failure != nil {
		return failure
	}
	return nil
}

// report makes one step of what the turn's agent reports.
func (x turnStep) report(turnID string, f func()) error {
	if err := x.requireWritable(turnID); err != nil {
		return err
	}
	f()
	x.texts().splitIfFull()
	return nil
}

func (in Interrupted) apply(x *Step) error {
	t := x.State.Turn
	if in.Announced && x.queue().stopsAnnounced(in.TurnID) {
		x.queue().stopAnnounced(in.Reason)
		return nil
	}
	if t == nil || t.Stop != "" || in.TurnID != "" && in.TurnID != t.Record.ID {
		return nil
	}
	x.turn().Stop = in.Reason
	if open := x.State.Questions; len(open) > 0 && t.Failure == nil {
		x.texts().endBlocks()
		x.questions().closeQuestions(endingReason(in.Reason))
		x.texts().splitIfFull()
		for i := range open {
			x.effect(Reply{open[i].ID, Answer{Reason: endingReason(in.Reason), Expired: open[i].Kind == protocol.KindAsk}})
		}
	}
	x.turns().release()
	x.effect(StopAgent{t.Record.ID})
	return nil
}

// release lets the agent have the answers that were held.
func (x turnStep) release() {
	if x.State.Turn.Lost {
		x.turn().Lost = false
		x.effect(HoldAnswers{false})
	}
}

func (in StepFailed) apply(x *Step) error {
	if !x.turns().isOpen(in.TurnID) {
		return nil
	}
	t := x.turn()
	if t.Failure == nil {
		t.Failure = &protocol.Error{Code: in.Code, Message: in.Message}
		x.warn("a turn failed", "turn", in.TurnID, "error", in.Message)
	}
	x.effect(CancelAgent{in.TurnID})
	if in.Reason != "" && t.Stop == "" {
		t.Stop = in.Reason
		x.turns().release()
		x.effect(StopAgent{in.TurnID})
	}
	return nil
}

func (in AgentEnded) apply(x *Step) error {
	if !x.turns().isOpen(in.TurnID) {
		return nil
	}
	x.turns().finish(in.Outcome, in.Others)
	return nil
}

// finish does everything that ends the open turn: its open text, its questions and
// their calls, the finish.
func (x turnStep) finish(o Outcome, others Activity) {
	t := x.turn()
	o = t.ending(o)
	x.texts().endBlocks()
	x.questions().closeQuestions(endingReason(o.Reason))
	rec := t.Record
	e, p := x.finishEvent(rec.ID, o)
	x.event(rec.ID, e, p, true)
	rec.LastID = x.State.Last
	x.status(rec.ID, protocol.StatusIdle, x.atRest(others).Reason)
	rec.State, rec.Finished, rec.FinishReason, rec.Reason = TurnFinished, x.now, e.FinishReason, e.Reason
	x.Rows.Turns = append(x.Rows.Turns, rec)
	x.State.Turn, x.ownTurn = nil, false
	x.delivery().stopRenewal()
	x.effect(EndTurn{rec.ID})
	x.effect(SetTimer{Name: TimerIdle})
}

// ending is how the turn ended, as the host sees it.
func (t *Turn) ending(o Outcome) Outcome {
	switch {
	case t.Failure != nil:
		o.FinishReason, o.Err, o.Reason = protocol.FinishError, t.Failure.Message, string(t.Failure.Code)
	case t.Stop != "":
		o.FinishReason, o.Reason = protocol.FinishOther, t.Stop
	case o.Reason == protocol.ReasonAborted:
		o.FinishReason = protocol.FinishOther
	case o.FinishReason == "":
		o.FinishReason = protocol.FinishStop
	case !slices.Contains(finishReasons, o.FinishReason):
		o.FinishReason, o.Reason = protocol.FinishOther, string(o.FinishReason)
	}
	if o.FinishReason == protocol.FinishError && o.Err == "" {
		o.Err = "The agent failed"
	}
	return o
}

var finishReasons = []protocol.FinishReason{
	protocol.FinishStop, protocol.FinishLength, protocol.FinishContentFilter,
	protocol.FinishToolCalls, protocol.FinishError, protocol.FinishOther,
}

// finishEvent returns the finish event and the part that ends the stream; an
// error event goes before it.
func (x turnStep) finishEvent(turnID string, o Outcome) (protocol.Event, *protocol.Part) {
	reason := protocol.CutText(o.Reason, MaxPhrase)
	e := protocol.Event{Type: protocol.EventFinish, FinishReason: o.FinishReason, Reason: reason, TotalUsage: o.usage()}
	switch {
	case o.FinishReason == protocol.FinishError:
		message := protocol.CutText(o.Err, MaxPhrase)
		x.event(turnID, protocol.Event{Type: protocol.EventError, Message: message, Code: reason}, nil, false)
		return e, &protocol.Part{Type: protocol.PartError, Error: x.encode(message)}
	case reason == protocol.ReasonAborted:
		return e, &protocol.Part{Type: protocol.PartAbort, Reason: reason}
	}
	usage := e.TotalUsage
	if usage == nil {
		usage = json.RawMessage("{}") // AI SDK readers expect an object
	}
	return e, &protocol.Part{
		Type: protocol.PartFinish, FinishReason: o.FinishReason, RawFinishReason: reason, TotalUsage: usage,
	}
}

// usage is a JSON object or nil.
func (o *Outcome) usage() json.RawMessage {
	if len(o.Usage) == 0 || o.Usage[0] != '{' || len(o.Usage) > MaxPhrase {
		return nil
	}
	return o.Usage
}

// ErrStopping refuses work while the host ends.
func ErrStopping() error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: "The agent host is stopping", RetryAfter: 5}
}
