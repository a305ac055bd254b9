package opencode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"bellhop/agenthost/provider/stdio"
)

// textPart is a text or reasoning part, with the text that was already forwarded.
type textPart struct {
	kind  string
	sent  strings.Builder
	ended bool
	// gap: deltas may have been missed or repeated. The missing text is forwarded
	// when the complete part arrives.
	gap bool
}

// call is a tool call of this turn.
type call struct {
	stdio.Call
	announced bool
}

// message records a message. The assistant's first one opens the turn.
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
		t.Out.Notice("info", "The agent summarizes the session to free context")
	}
	if t.last == nil || t.last.ID <= info.ID {
		t.last = info
	}
}

// part maps a part of an assistant's message. stored means that it was read from
// the session, so deltas of it may be missing.
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
		return t.textPart(p, stored)
	case partTool:
		return t.tool(p)
	case partStepStart:
		if p.SessionID == t.id {
			return t.closeText(false) // the text of a step that broke off
		}
	case partStepFinish:
		t.spend(p)
		if p.SessionID == t.id {
			t.finish, t.context = p.Reason, p.Tokens.context()
		}
	}
	return nil
}

// textPart forwards the new text of a text or reasoning part.
func (t *turn) textPart(p *part, stored bool) error {
	s := t.parts[p.ID]
	if s == nil {
		s = &textPart{kind: p.Type}
		t.parts[p.ID] = s
		if p.Text == "" && p.Time.End == 0 {
			s.gap = stored
			return t.closeText(false)
		}
	}
	if stored && p.Time.End == 0 {
		s.gap = true
	}
	if s.ended || p.Time.End == 0 && !s.gap && s.sent.Len() > 0 {
		return nil
	}
	if more, ok := strings.CutPrefix(p.Text, s.sent.String()); ok && more != "" {
		if err := t.append(p.ID, s, more); err != nil {
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
		return t.Out.EndReasoning()
	}
	return t.Out.EndText(p.Text)
}

// delta adds to a part. Text and reasoning both call their field "text".
func (t *turn) delta(p properties) error {
	s := t.parts[p.PartID]
	if s == nil || s.ended || s.gap || p.Field != "text" || p.Delta == "" {
		return nil
	}
	return t.append(p.PartID, s, p.Delta)
}

func (t *turn) append(id string, s *textPart, text string) error {
	if t.openPart != id {
		if err := t.closeText(false); err != nil {
			return err
		}
		t.openPart = id
	}
	s.sent.WriteString(text)
	if s.kind == partReasoning {
		return t.Out.Reasoning(text)
	}
	return t.Out.Text(text)
}

// closeText ends the open block. Its parameter, for CloseOut, changes nothing: text is shown as it was sent,
// whether or not the turn was cancelled.
func (t *turn) closeText(bool) error {
	open := t.parts[t.openPart]
	t.openPart = ""
	switch {
	case open == nil:
		return nil
	case open.kind == partReasoning:
		return t.Out.EndReasoning()
	}
	return t.Out.EndText("")
}

// report shows a sub-agent's text as a notice once it is complete, because several
// sub-agents may send text at the same time.
func (t *turn) report(p *part) error {
	if p.Type != partText || p.Time.End == 0 || t.parts[p.ID] != nil || p.Text == "" {
		return nil
	}
	t.parts[p.ID] = &textPart{kind: p.Type, ended: true}
	t.Out.Notice("info", cmp.Or(t.titles[p.SessionID], "sub-agent")+": "+p.Text)
	return nil
}

// tool maps a state of a tool call.
func (t *turn) tool(p *part) error {
	c := t.call(toolRef{MessageID: p.MessageID, CallID: p.CallID}, p.Tool)
	if p.State.Status == toolPending || c.Answered() {
		return nil
	}
	if err := t.announce(c, p.State.Input); err != nil {
		return err
	}
	switch p.State.Status {
	case toolCompleted:
		return t.result(c, completedOutput(&p.State), false, false)
	case toolError:
		denied := isDenial(p.State.Error)
		return t.result(c, p.State.Error, !denied, denied)
	}
	return nil
}

// call returns the call. A new call gets an id that is unique within the turn.
func (t *turn) call(ref toolRef, name string) *call {
	if c := t.calls[ref]; c != nil {
		return c
	}
	c := &call{Call: stdio.Call{ID: ref.CallID, Name: cmp.Or(t.program.config.toolName(name), "tool")}}
	for n := 2; c.ID == "" || t.callIDs[c.ID]; n++ {
		c.ID = fmt.Sprintf("%s~%d", ref.CallID, n)
	}
	t.calls[ref], t.callIDs[c.ID] = c, true
	return c
}

func (t *turn) announce(c *call, input json.RawMessage) error {
	if c.announced {
		return nil
	}
	c.announced, c.Input = true, stdio.OrEmpty(input)
	t.openPart = ""
	return t.Announce(&c.Call)
}

func (t *turn) result(c *call, output any, isError, denied bool) error {
	c.SetDenied(denied)
	return t.Result(&c.Call, stdio.Encode(output), isError)
}
