package terminal

import (
	"encoding/json"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// maxItems bounds the items of a Turn that are journaled.
const maxItems = 500

// Turn is a turn that a user made in the agent's own terminal client.
type Turn struct {
	ID      string // the same for the same turn; "" for a new one
	Prompt  string
	Items   []core.TerminalItem
	Outcome core.Outcome
}

// Masker replaces the secrets of a session.
type Masker interface {
	Text(text string) string
	// Value masks a JSON value; an absent one becomes otherwise.
	Value(raw json.RawMessage, otherwise string) json.RawMessage
}

// Input returns the turn as it is journaled: masked, and within the limits of events.
func (t *Turn) Input(masker Masker) core.TerminalWorked {
	text := func(v string) string { return masker.Text(protocol.SanitizeText(v)) }
	in := core.TerminalWorked{
		TurnID: t.ID, Prompt: protocol.CutText(text(t.Prompt), protocol.MaxMessage),
		Outcome: core.Outcome{
			FinishReason: t.Outcome.FinishReason, Reason: text(t.Outcome.Reason), Err: text(t.Outcome.Err),
		},
	}
	if len(t.Outcome.Usage) > 0 {
		in.Outcome.Usage = masker.Value(t.Outcome.Usage, "")
	}
	for _, item := range t.Items[:min(len(t.Items), maxItems)] {
		switch {
		case item.Call != nil:
			call := *item.Call
			call.Input, item.Truncated = protocol.CutValue(masker.Value(call.Input, "{}"), core.MaxValue)
			item.Call = &call
		case item.Result != nil:
			result := *item.Result
			result.Output, item.Truncated = protocol.CutValue(masker.Value(result.Output, "null"), core.MaxValue)
			item.Result = &result
		default:
			item.Text = protocol.CutText(text(item.Text), core.MaxText)
		}
		in.Items = append(in.Items, item)
	}
	return in
}
