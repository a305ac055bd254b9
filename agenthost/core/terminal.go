package core

import (
	"encoding/json"
	"strconv"

	"bellhop/protocol"
)

// errAttached refuses a prompt while a user works in the agent's terminal client.
func errAttached() error {
	return &protocol.Error{
		Code: protocol.CodeAttached, Message: "A terminal client is attached to the session",
		Hint: "Close it, or send the prompt with force: the client is closed first",
	}
}

// apply journals the turn with all its events in one step. It has no frames, because no reader
// could have followed it. A basic broker gets nothing: it knows only the turns of its check-ins.
func (in TerminalWorked) apply(x *Step) error {
	s := &x.State
	switch {
	case !s.Durable:
		return errNotFound()
	case s.Turn != nil:
		return &protocol.Error{Code: protocol.CodeBusy, Message: "A turn is open"}
	case s.Record.Basic:
		return nil
	}
	w := terminalStep{Step: x, turnID: in.TurnID, calls: map[string]string{}}
	w.prompt(in.Prompt)
	from := s.Record.Cursor
	for i := range in.Items {
		w.item(&in.Items[i])
	}
	w.finish(in.Outcome)
	if s.Record.Incarnation != "" || s.Delivery.seen != "" { // the prompt goes with the turn's first event
		s.Record.Resend = protocol.Cursor{Epoch: from.Epoch, Seq: from.Seq + 1}
	}
	return nil
}

// terminalStep adds the events of a turn that was made in a terminal.
type terminalStep struct {
	*Step
	turnID string
	calls  map[string]string // names of the calls without a result, by id
}

func (w *terminalStep) add(e protocol.Event) {
	e.Origin = protocol.OriginTerminal
	w.event(w.turnID, e, nil, false)
}

func (w *terminalStep) prompt(text string) {
	switch {
	case text == "":
	case w.State.Headless():
		w.add(protocol.Event{Type: EventInput, Text: &text})
	default:
		w.Rows.Prompts = append(w.Rows.Prompts, PromptRecord{SessionID: w.State.ID, TurnID: w.turnID, Text: text})
	}
}

func (w *terminalStep) item(i *TerminalItem) {
	at := json.RawMessage(strconv.AppendInt(nil, i.At.UnixMilli(), 10))
	switch {
	case i.Call != nil:
		id, name := Name(i.Call.ID, "call"), Name(i.Call.Name, "tool")
		w.calls[id] = name
		w.add(protocol.Event{
			Type: protocol.EventToolCall, ToolCallID: id, ToolName: name, Input: valueOr(i.Call.Input, "{}"),
			Truncated: i.Truncated, Timestamp: at,
		})
	case i.Result != nil:
		id := Name(i.Result.ID, "call")
		name, known := w.calls[id]
		if !known {
			return
		}
		delete(w.calls, id)
		w.add(protocol.Event{
			Type: protocol.EventToolResult, ToolCallID: id, ToolName: name, Output: valueOr(i.Result.Output, "null"),
			IsError: i.Result.IsError, Denied: i.Result.Denied, Truncated: i.Truncated, Timestamp: at,
		})
	default:
		w.text(i.Text, at)
	}
}

// text adds a text, a long one as several.
func (w *terminalStep) text(text string, at json.RawMessage) {
	for text != "" {
		piece := protocol.CutText(text, maxFinal)
		text = text[len(piece):]
		w.add(protocol.Event{Type: protocol.EventText, ID: "txt_" + w.newID(), Text: &piece, Timestamp: at})
	}
}

// finish adds the end of the turn, and its row: without a start, because it has no stream.
func (w *terminalStep) finish(o Outcome) {
	o = (&Turn{}).ending(o)
	reason := protocol.CutText(o.Reason, MaxPhrase)
	if o.FinishReason == protocol.FinishError {
		w.add(protocol.Event{Type: protocol.EventError, Message: protocol.CutText(o.Err, MaxPhrase), Code: reason})
	}
	w.add(protocol.Event{Type: protocol.EventFinish, FinishReason: o.FinishReason, Reason: reason, TotalUsage: o.usage()})
	w.Rows.Turns = append(w.Rows.Turns, TurnRecord{
		SessionID: w.State.ID, ID: w.turnID, State: TurnFinished, Announced: w.now, Finished: w.now,
		FinishReason: o.FinishReason, Reason: reason,
	})
}

func valueOr(value json.RawMessage, otherwise string) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage(otherwise)
	}
	return value
}
