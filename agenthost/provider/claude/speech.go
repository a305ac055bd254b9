package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// speech is what the main agent is saying. The deltas of a block come first,
// then the whole block, then the end of it in the stream, which says nothing
// new and is missing when the stream is cut.
type speech struct {
	block     string // deltas of the text block
	closed    int    // how much of it a tool call of a sub-agent has closed
	reasoning bool
}

// hear maps one message to the output.
func (t *turn) hear(s saying) error {
	if s.garbage != "" {
		t.garbage.skip(t, s.garbage)
		return nil
	}
	t.progress.track(t.id, &s)
	switch {
	case s.stream != nil:
		return t.delta(&s)
	case s.said != nil && s.Type == "assistant":
		return t.assistant(&s)
	case s.said != nil:
		return t.user(s.said)
	case s.request != nil:
		return t.request(&s)
	case s.system != nil:
		return t.system(&s)
	}
	return nil
}

func (t *turn) system(s *saying) error {
	switch s.Subtype {
	case "init":
		return t.native(s.SessionID)
	case "api_retry":
		what := cmp.Or(strings.Trim(string(s.system.Error), `"`), "unknown")
		if status := string(s.system.Status); status != "" && status != "null" {
			what += " " + status
		}
		t.out.Notice("warning", fmt.Sprintf("The model does not answer (%s), try %d of %d again", what, s.system.Attempt, s.system.MaxRetries))
	}
	return nil
}

// native tells the host the program's session once it is on the disk. The user
// may have changed it (/clear).
func (t *turn) native(id string) error {
	a := t.agent
	a.mu.Lock()
	fresh := id != "" && id != a.announced
	if fresh {
		a.native, a.announced = id, id
	}
	a.mu.Unlock()
	if !fresh {
		return nil
	}
	return t.out.SetNative(id)
}

// delta streams the main agent's text; sub-agents speak in whole blocks.
func (t *turn) delta(s *saying) error {
	delta := &s.stream.Event.Delta
	switch {
	case s.Parent != "":
		return nil
	case delta.Type == "text_delta" && delta.Text != "":
		if err := t.endReasoning(); err != nil {
			return err
		}
		t.speech.block += delta.Text
		return t.out.Text(delta.Text)
	case delta.Type == "thinking_delta" && delta.Thinking != "":
		t.speech.reasoning = true
		return t.out.Reasoning(delta.Thinking)
	}
	return nil
}

// assistant has one or more whole blocks; the blocks of a message come one by
// one under the same message id.
func (t *turn) assistant(s *saying) error {
	for _, b := range s.said.blocks() {
		var err error
		switch {
		case b.Type == "tool_use":
			_, err = t.call(b.ID, b.Name, b.Input)
		case s.Parent != "":
			t.subAgent(s.said.Task, b)
		case s.said.IsAPIError: // the program's words, not the model's: they are the result's
			err = t.close()
		case b.Type == "text":
			err = t.endText(b.Text)
		case b.Type == "thinking":
			err = t.thought(b.Thinking)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// subAgent shows what a sub-agent says: its report comes as the main agent's
// words later.
func (t *turn) subAgent(task string, b block) {
	if b.Type == "text" && b.Text != "" {
		t.out.Notice("info", "Sub-agent "+task+": "+b.Text)
	}
}

// endText ends the block. Of one that was closed in between only the rest is
// left to say.
func (t *turn) endText(final string) error {
	if err := t.endReasoning(); err != nil {
		return err
	}
	said := t.speech.block[:t.speech.closed]
	t.speech.block, t.speech.closed = "", 0
	rest, ok := strings.CutPrefix(final, said)
	if !ok {
		rest = ""
	}
	return t.out.EndText(rest)
}

func (t *turn) thought(whole string) error {
	if !t.speech.reasoning && whole != "" {
		t.speech.reasoning = true
		if err := t.out.Reasoning(whole); err != nil {
			return err
		}
	}
	return t.endReasoning()
}

func (t *turn) endReasoning() error {
	if !t.speech.reasoning {
		return nil
	}
	t.speech.reasoning = false
	return t.out.EndReasoning()
}

// close leaves no block open.
func (t *turn) close() error {
	if err := t.endReasoning(); err != nil {
		return err
	}
	t.speech.closed = len(t.speech.block)
	return t.out.EndText("")
}

// user has the results of calls. What it says besides is the prompt's echo, or
// the program's words to the model.
func (t *turn) user(s *said) error {
	rejected := map[string]bool{}
	for _, meta := range s.Results {
		rejected[meta.ID] = meta.Decision.Decision == "reject"
	}
	for _, b := range s.blocks() {
		if b.Type != "tool_result" {
			continue
		}
		c := t.calls[b.ToolUseID]
		if c == nil {
			t.garbage.skip(t, "a tool result without its call")
			continue
		}
		if err := t.result(c, plain(b.Content), b.IsError, rejected[b.ToolUseID]); err != nil {
			return err
		}
	}
	return nil
}

// plain is the text of a result; one with images in it stays as it is.
func plain(content json.RawMessage) json.RawMessage {
	var text string
	var blocks []block
	switch {
	case len(content) == 0 || string(content) == "null":
	case json.Unmarshal(content, &text) == nil:
	case json.Unmarshal(content, &blocks) == nil:
		var texts []string
		for _, b := range blocks {
			if b.Type != "text" {
				return content
			}
			texts = append(texts, b.Text)
		}
		text = strings.Join(texts, "\n")
	default:
		return content
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return content
	}
	return raw
}
