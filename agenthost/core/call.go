package core

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"bellhop/policy"
	"bellhop/protocol"
)

// Call is a tool call of a turn.
type Call struct {
	Name   string
	Input  json.RawMessage
	done   bool // has a result
	number int  // of the turn's calls
}

// Calls are the tool calls of a turn by id. A copy does not change with the original.
type Calls struct {
	known history[Call]
	count int
	asked history[bool] // calls that came with a confirm
}

func (c *Calls) begin(id string, call Call) {
	call.number = c.count
	c.count++
	c.known = c.known.with(id, call)
}

func (c *Calls) end(id string, call Call) {
	call.done = true
	c.known = c.known.with(id, call)
}

// open returns the ids of the calls without a result, in the order of the calls.
func (c *Calls) open() []string {
	var ids []string
	all := c.known.all()
	for id, call := range all {
		if !call.done {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(all[a].number, all[b].number) })
	return ids
}

// history is a map that grows by one key at a time. A copy does not change with the
// original. It is a list of maps that double in size, so a new key costs O(log n) on average.
type history[V any] []map[string]V

func (h history[V]) get(key string) (v V, ok bool) {
	for i := len(h) - 1; i >= 0; i-- { // the newest value counts
		if v, ok = h[i][key]; ok {
			return v, true
		}
	}
	return v, false
}

func (h history[V]) with(key string, v V) history[V] {
	keep, size := len(h), 1
	for keep > 0 && len(h[keep-1]) <= size {
		keep--
		size += len(h[keep])
	}
	merged := make(map[string]V, size)
	for _, older := range h[keep:] {
		maps.Copy(merged, older)
	}
	merged[key] = v
	return append(slices.Clone(h[:keep]), merged)
}

func (h history[V]) all() map[string]V {
	merged := map[string]V{}
	for _, level := range h { // later levels are newer
		maps.Copy(merged, level)
	}
	return merged
}

func (in AgentCalled) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() {
		x.texts().endBlocks()
		id := Name(in.Call.ID, "call")
		call := Call{Name: Name(in.Call.Name, "tool"), Input: in.Call.Input}
		x.event(in.TurnID, protocol.Event{
			Type: protocol.EventToolCall, ToolCallID: id, ToolName: call.Name, Input: call.Input, Truncated: in.Truncated,
		}, &protocol.Part{Type: protocol.PartToolCall, ToolCallID: id, ToolName: call.Name, Input: call.Input}, true)
		x.turn().Calls.begin(id, call)
	})
}

func (in AgentResulted) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() { x.calls().result(in.Result, in.Truncated) })
}

// result adds a tool's result. A second one for the same call changes nothing: an
// interruption may have answered the call already.
func (x callStep) result(r ToolResult, truncated bool) {
	t := x.turn()
	id := Name(r.ID, "call")
	call, known := t.Calls.known.get(id)
	if call.done {
		return
	}
	if !known {
		call = Call{Name: Name(r.Name, "tool"), Input: json.RawMessage("{}")}
	}
	if len(r.Output) == 0 {
		r.Output = json.RawMessage("null")
	}
	e := protocol.Event{
		Type: protocol.EventToolResult, ToolCallID: id, ToolName: call.Name, IsError: r.IsError, Denied: r.Denied,
		Output: r.Output, Truncated: truncated,
	}
	p := &protocol.Part{Type: protocol.PartToolResult, ToolCallID: id, ToolName: call.Name, Input: call.Input}
	switch {
	case r.Denied:
		p.Type, p.Input = protocol.PartToolOutputDenied, nil
	case r.IsError:
		p.Type, p.Error = protocol.PartToolError, e.Output
	default:
		p.Output = e.Output
	}
	x.event(t.Record.ID, e, p, !t.Text.open)
	t.Calls.end(id, call)
}

// endCalls adds a result for every call without one, because a call without a
// result would look like a running one for ever. denied has the ids of the calls whose question was denied.
func (x callStep) endCalls(denied map[string]bool, reason string) {
	open := x.State.Turn.Calls.open()
	for _, id := range open {
		if denied[id] {
			x.result(ToolResult{ID: id, Denied: true}, false)
		}
	}
	for _, id := range open {
		if !denied[id] {
			x.result(ToolResult{
				ID: id, IsError: true, Output: x.encode("The turn ended before this tool had: " + reason),
			}, false)
		}
	}
}

func (in AgentNoticed) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() { x.calls().notice(in.Level, in.Message) })
}

func (x callStep) notice(level, message string) {
	data := x.encode(map[string]string{"level": level, "message": protocol.CutText(message, MaxPhrase)})
	x.frame(&protocol.Part{Type: protocol.PartDataNotice, Data: data}, !x.State.Turn.Text.open)
}

func (in AgentReminded) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() {
		x.frame(&protocol.Part{Type: protocol.PartDataContextRestored, Data: x.encode(in.Context)}, !x.State.Turn.Text.open)
	})
}

func (in AgentNamed) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() {
		t, rec := x.State.Turn, &x.State.Record
		if rec.Agent == t.agent && rec.Project == t.project { // a check-in may have chosen another agent meanwhile
			x.record().AgentSessionID = in.AgentSessionID
		}
	})
}

// PolicyCall returns the call that a confirm asks about. It takes tool and arguments from the question. If the
// question has none, it takes them from the tool call, whose arguments are masked, cut and perhaps older.
func (s *State) PolicyCall(q *Question) policy.Call {
	c := s.policyCall(q.ToolName, firstArguments(q.Input, q.Args))
	if s.Turn == nil || q.ToolCallID == "" {
		return c
	}
	if known, ok := s.Turn.Calls.known.get(Name(q.ToolCallID, "call")); ok {
		c.Tool = cmp.Or(c.Tool, known.Name)
		c.Input = firstArguments(c.Input, known.Input)
	}
	return c
}

// TerminalCall returns a call of a program in a person's terminal. The person chose the
// program's own permission mode, so the session's does not apply.
func (s *State) TerminalCall(dir, tool string, input json.RawMessage) policy.Call {
	c := s.policyCall(tool, input)
	c.Dir, c.Mode = dir, ""
	return c
}

// firstArguments returns the first of the values that has members.
func firstArguments(values ...json.RawMessage) json.RawMessage {
	for _, value := range values {
		if text := bytes.TrimSpace(value); len(text) > 0 && !bytes.Equal(text, []byte("{}")) {
			return value
		}
	}
	return values[0]
}

func (s *State) policyCall(tool string, input json.RawMessage) policy.Call {
	r := &s.Record
	return policy.Call{Agent: r.Agent, Project: r.Project, Dir: r.Dir, Mode: r.Mode, Tool: tool, Input: input}
}

// Unasked returns the call of a result if the agent ran it without asking; ok is false
// for calls that are unknown, were asked about or were denied.
func (s *State) Unasked(r *ToolResult) (c policy.Call, ok bool) {
	if s.Turn == nil || r.Denied {
		return c, false
	}
	id := Name(r.ID, "call")
	known, ok := s.Turn.Calls.known.get(id)
	if asked, _ := s.Turn.Calls.asked.get(id); asked || !ok {
		return c, false
	}
	return s.policyCall(known.Name, known.Input), true
}
