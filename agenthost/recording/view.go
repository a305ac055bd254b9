package recording

import (
	"encoding/json"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// View is a result as JSON.
type View struct {
	File    string       `json:"file"`
	Line    int          `json:"line"`
	At      time.Time    `json:"at"`
	Session string       `json:"session"`
	Kind    string       `json:"kind"`
	Input   core.Input   `json:"input"`
	Error   string       `json:"error,omitempty"`
	Before  string       `json:"before"`
	After   string       `json:"after"`
	Rows    *RowsView    `json:"rows,omitempty"`
	Frames  []FrameView  `json:"frames,omitempty"`
	Effects []EffectView `json:"effects,omitempty"`
	Missing bool         `json:"missing,omitempty"`
	Differs string       `json:"differs,omitempty"`
}

// RowsView are the rows of a step as JSON.
type RowsView struct {
	Events       []EventView              `json:"events,omitempty"`
	Turns        []core.TurnRecord        `json:"turns,omitempty"`
	Interactions []core.InteractionRecord `json:"interactions,omitempty"`
	Prompts      []core.PromptRecord      `json:"prompts,omitempty"`
	Tokens       []core.TokenRecord       `json:"tokens,omitempty"`
	DeadLetters  []core.DeadLetter        `json:"deadLetters,omitempty"`
	Session      *core.SessionRecord      `json:"session,omitempty"`

	DropEvents    []protocol.Cursor `json:"dropEvents,omitempty"`
	DropAllTokens bool              `json:"dropAllTokens,omitempty"`
	DropSession   bool              `json:"dropSession,omitempty"`
}

// EventView is an event's row as JSON.
type EventView struct {
	Cursor protocol.Cursor    `json:"cursor"`
	ID     string             `json:"id"`
	TurnID string             `json:"turnId"`
	Type   protocol.EventType `json:"type"`
	Body   json.RawMessage    `json:"body"`
	Frame  string             `json:"frame,omitempty"` // stream id of its part
	Part   json.RawMessage    `json:"part,omitempty"`
}

// FrameView is a frame as JSON.
type FrameView struct {
	ID       string          `json:"id"`
	Part     json.RawMessage `json:"part"`
	Boundary bool            `json:"boundary"`
}

// EffectView is an effect as JSON.
type EffectView struct {
	Name   string      `json:"name"`
	Effect core.Effect `json:"effect"`
}

// View returns the result as JSON members.
func (r *Result) View() View {
	v := View{
		File: r.File, Line: r.Line, At: r.At, Session: r.Session, Kind: core.Kind(r.Input.Input),
		Input: r.Input.Input, Error: r.Input.Error,
		Before: Describe(&r.Before), After: Describe(&r.After), Missing: r.Missing, Differs: r.Differs,
	}
	if r.Missing {
		v.Before, v.After = "unknown", "unknown"
	}
	if r.Step == nil {
		return v
	}
	v.Rows = viewRows(&r.Step.Rows)
	for i := range r.Step.Frames {
		f := &r.Step.Frames[i]
		v.Frames = append(v.Frames, FrameView{ID: f.ID.String(), Part: f.Part, Boundary: f.Boundary})
	}
	for _, e := range r.Step.Effects {
		v.Effects = append(v.Effects, EffectView{Name: effectName(e), Effect: e})
	}
	return v
}

func viewRows(w *core.Write) *RowsView {
	v := &RowsView{
		Turns: w.Turns, Interactions: w.Interactions, Prompts: w.Prompts, Tokens: w.Tokens,
		DeadLetters: w.DeadLetters, Session: w.Session,
		DropEvents: w.DropEvents, DropAllTokens: w.DropAllTokens, DropSession: w.DropSession,
	}
	for i := range w.Events {
		e := &w.Events[i]
		row := EventView{Cursor: e.Cursor, ID: e.EventID, TurnID: e.TurnID, Type: e.Type, Body: e.Body, Part: e.Part}
		if e.Part != nil {
			row.Frame = e.Frame.String()
		}
		v.Events = append(v.Events, row)
	}
	return v
}
