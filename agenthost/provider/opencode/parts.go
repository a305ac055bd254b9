package opencode

import (
	"encoding/json"
	"fmt"
	"strings"

	"bellhop/agenthost"
)

// spoken is a text or reasoning part, as far as it was passed on.
type spoken struct {
	kind  string
	sent  strings.Builder
	ended bool
	// gap: deltas of it may have been missed or come twice; what is missing is
	// passed on with its whole text.
	gap bool
}

// call is a tool call of this turn.
type call struct {
	id        string // unique in the turn
	name      string
	announced bool
	answered  bool
}

// message notes what is said of a message. The assistant's first one opens the
// turn.
func (t *turn) message(info *messageInfo) {
	if info.Time.Created < t.since {
		return
	}
	before := t.messages[info.ID]
	t.messages[info.ID] = info
	if info.SessionID != t.id {
		return
	}
	if info.Role != roleAssistant {
		t.accepted = true
		return
	}
	if before == nil && string(info.Summary) == "true" {
		t.out.Notice("info", "The agent sums up the session to make room")
	}
	if t.last == nil || t.last.ID <= info.ID {
		t.last = info
	}
}

// part maps a part of an assistant's message. stored means that it was read and
// not said, so that deltas of it may be missing.
func (t *turn) part(p *part, stored bool) error {
	info := t.messages[p.MessageID]
	if info == nil || info.Role != roleAssistant || string(info.Summary) == "true" {
		return nil
	}
	switch p.Type {
	case partText, partReasoning:
		if p.Synthetic || p.Ignored {
			return nil
		}
		if p.SessionID != t.id {
			return t.report(p)
		}
		return t.speak(p, stored)
	case partTool:
		return t.tool(p)
	case partStepStart:
		if p.SessionID == t.id {
			return t.closeText() // of a step that broke off
		}
	case partStepFinish:
		t.spent[p.ID] = p.Tokens
		if p.SessionID == t.id {
			t.finish = p.Reason
		}
	}
	return nil
}

// speak passes on what is new in a text or reasoning part.
func (t *turn) speak(p *part, stored bool) error {
	s := t.parts[p.ID]
	if s == nil {
		s = &spoken{kind: p.Type}
		t.parts[p.ID] = s
		if p.Text == "" && p.Time.End == 0 {
			s.gap = stored
			return t.closeText()
		}
	}
	if stored && p.Time.End == 0 {
		s.gap = true
	}
	if s.ended || p.Time.End == 0 && !s.gap && s.sent.Len() > 0 {
		return nil
	}
	if more, ok := strings.CutPrefix(p.Text, s.sent.String()); ok && more != "" {
		if err := t.say(p.ID, s, more); err != nil {
			return err
		}
	}
	if p.Time.End == 0 {
		return nil
	}
	s.ended = true
	if t.openPart != p.ID {
		return nil
	}
	t.openPart = ""
	if s.kind == partReasoning {
		return t.out.EndReasoning()
	}
	return t.out.EndText(p.Text)
}

// delta adds to a part. Text and reasoning both call their field "text".
func (t *turn) delta(p properties) error {
	s := t.parts[p.PartID]
	if s == nil || s.ended || s.gap || p.Field != "text" || p.Delta == "" {
		return nil
	}
	return t.say(p.PartID, s, p.Delta)
}

func (t *turn) say(id string, s *spoken, words string) error {
	if t.openPart != id {
		if err := t.closeText(); err != nil {
			return err
		}
		t.openPart = id
	}
	s.sent.WriteString(words)
	if s.kind == partReasoning {
		return t.out.Reasoning(words)
	}
	return t.out.Text(words)
}

// closeText ends the open block with what was said of it.
func (t *turn) closeText() error {
	open := t.parts[t.openPart]
	t.openPart = ""
	switch {
	case open == nil:
		return nil
	case open.kind == partReasoning:
		return t.out.EndReasoning()
	}
	return t.out.EndText("")
}

// report shows a sub-agent's text, when it is whole: several may talk at once.
func (t *turn) report(p *part) error {
	if p.Type != partText || p.Time.End == 0 || t.parts[p.ID] != nil || p.Text == "" {
		return nil
	}
	t.parts[p.ID] = &spoken{kind: p.Type, ended: true}
	title := t.titles[p.SessionID]
	if title == "" {
		title = "sub-agent"
	}
	t.out.Notice("info", title+": "+p.Text)
	return nil
}

// tool maps a state of a tool call.
func (t *turn) tool(p *part) error {
	c := t.call(toolRef{MessageID: p.MessageID, CallID: p.CallID}, p.Tool)
	if p.State.Status == toolPending || c.answered {
		return nil
	}
	if err := t.announce(c, p.State.Input); err != nil {
		return err
	}
	switch p.State.Status {
	case toolCompleted:
		return t.completed(c, p.State)
	case toolError:
		denied := strings.HasPrefix(p.State.Error, "The user rejected permission") ||
			strings.HasPrefix(p.State.Error, "The user has specified a rule which prevents")
		return t.result(c, p.State.Error, !denied, denied)
	}
	return nil
}

// call finds or notes a call; its id is made unique in the turn.
func (t *turn) call(ref toolRef, name string) *call {
	if c := t.calls[ref]; c != nil {
		return c
	}
	c := &call{id: ref.CallID, name: name}
	for n := 2; c.id == "" || t.callIDs[c.id]; n++ {
		c.id = fmt.Sprintf("%s~%d", ref.CallID, n)
	}
	if c.name == "" {
		c.name = "tool"
	}
	t.calls[ref], t.callIDs[c.id] = c, true
	t.order = append(t.order, c)
	return c
}

func (t *turn) announce(c *call, input json.RawMessage) error {
	if c.announced {
		return nil
	}
	c.announced = true
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	t.openPart = ""
	return t.out.ToolCall(agenthost.ToolCall{ID: c.id, Name: c.name, Input: input})
}

// completed is a result. A command that failed is completed too, so that its
// exit status is part of the result.
func (t *turn) completed(c *call, s toolState) error {
	if exit := s.exit(); exit != 0 {
		return t.result(c, map[string]any{"output": s.Output, "exit": exit}, false, false)
	}
	return t.result(c, s.Output, false, false)
}

func (t *turn) result(c *call, output any, isError, denied bool) error {
	c.answered = true
	encoded, err := json.Marshal(output)
	if err != nil {
		return err
	}
	return t.out.ToolResult(agenthost.ToolResult{ID: c.id, Name: c.name, Output: encoded, IsError: isError, Denied: denied})
}
