package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// turn implements stdio.Exchange.
type turn struct {
	*stdio.Turn
	connection *connection
	id         string // the id of the prompt's message

	blocks   blocks
	progress progress
	followUp *followUp // nil unless a turn without a prompt is awaited
}

// followUp is the wait for a turn that the program begins by itself.
type followUp struct{ timer *time.Timer }

// interruption is the request id of the interrupt.
const interruption = "interrupt"

// Prompt implements stdio.Exchange.
func (t *turn) Prompt(ctx context.Context, prompt agenthost.Prompt, restored string) error {
	id, line, err := encodePrompt(prompt, restored)
	if err != nil {
		return err
	}
	t.id = id
	return t.connection.child.SendPrompt(ctx, line)
}

// Handle maps one message. The turn ends when all its work has ended, or when an
// expected turn without a prompt does not come in time.
func (t *turn) Handle(m message) (*agenthost.Outcome, error) {
	if err := t.handle(m); err != nil {
		return nil, err
	}
	if t.progress.over() || m.followUp != nil && m.followUp == t.followUp {
		outcome := t.progress.outcome()
		return &outcome, nil
	}
	t.awaitFollowUp()
	return nil, nil
}

// awaitFollowUp starts or ends the wait for a turn without a prompt.
func (t *turn) awaitFollowUp() {
	switch expecting := t.progress.expecting(); {
	case expecting && t.followUp == nil:
		awaited, deliver := &followUp{}, t.connection.deliver
		awaited.timer = time.AfterFunc(t.connection.program.options.FollowUp, func() { deliver(message{followUp: awaited}) })
		t.followUp = awaited
	case !expecting && t.followUp != nil:
		t.followUp.timer.Stop()
		t.followUp = nil
	}
}

// Cancel asks the program to stop the turn once the turn has begun. An earlier
// interrupt would have no effect, and the program would then begin the turn.
func (t *turn) Cancel(context.Context) {
	if t.progress.interruptible() {
		t.progress.interrupted = true
		t.connection.child.Offer(controlRequest(interruption, "interrupt"))
	}
}

// Drain implements stdio.Exchange. An interrupt does not end background commands;
// the program ends them when it exits.
func (t *turn) Drain(m message, muted bool) (stopped bool, err error) {
	if muted || m.Type == "control_request" {
		t.progress.track(t.id, &m)
	} else {
		err = t.handle(m)
	}
	if t.progress.stopped && t.progress.busy() {
		t.connection.child.Signal()
	}
	return t.progress.stopped, err
}

// Close implements stdio.Exchange.
func (t *turn) Close(bool) error { return t.blocks.close() }

// Usage implements stdio.Exchange.
func (t *turn) Usage() json.RawMessage { return t.progress.usage() }

func (t *turn) handle(m message) error {
	t.progress.track(t.id, &m)
	switch {
	case m.stream != nil:
		return t.delta(&m)
	case m.chat != nil && m.Type == "assistant":
		return t.assistant(&m)
	case m.chat != nil:
		return t.user(m.chat)
	case m.request != nil:
		return t.request(&m)
	case m.system != nil:
		return t.system(&m)
	}
	return nil
}

func (t *turn) system(m *message) error {
	switch m.Subtype {
	case "init":
		if report := t.connection.program.spec.ReportTools; report != nil && len(m.system.Tools) > 0 {
			report(m.system.Tools)
		}
		if len(m.system.Commands) > 0 {
			t.connection.reportCommands(m.system.Commands)
		}
		return t.announceSession(m.SessionID)
	case "api_retry":
		what := cmp.Or(strings.Trim(string(m.system.Error), `"`), "unknown")
		if status := string(m.system.Status); status != "" && status != "null" {
			what += " " + status
		}
		t.Out.Notice("warning",
			fmt.Sprintf("The model does not answer (%s), try %d of %d again", what, m.system.Attempt, m.system.MaxRetries))
	}
	return nil
}

// announceSession reports the program's session to the host once it is stored. The
// user may have changed the session (/clear).
func (t *turn) announceSession(id string) error {
	p := t.connection.program
	if id == "" || id == p.announced {
		return nil
	}
	p.session, p.announced = id, id
	return t.Out.SetAgentSessionID(id)
}

// delta streams the main agent's text. Sub-agents send only complete blocks.
func (t *turn) delta(m *message) error {
	delta := &m.stream.Event.Delta
	switch {
	case m.Parent != "":
		return nil
	case delta.Type == "text_delta" && delta.Text != "":
		return t.blocks.text(delta.Text)
	case delta.Type == "thinking_delta" && delta.Thinking != "":
		return t.blocks.reason(delta.Thinking)
	}
	return nil
}

// assistant maps a message of one or more complete blocks. The blocks of a message
// arrive one by one with the same message id.
func (t *turn) assistant(m *message) error {
	for _, b := range m.chat.blocks() {
		var err error
		switch {
		case b.Type == "tool_use":
			_, err = t.call(b.ID, b.Name, b.Input)
		case m.Parent != "":
			t.subAgent(m.chat.Task, b)
		case m.chat.IsAPIError: // a text of the program instead of the model; the result repeats it
			err = t.blocks.close()
		case b.Type == "text":
			err = t.blocks.endText(b.Text)
		case b.Type == "thinking":
			err = t.blocks.endReasoning(b.Thinking)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// subAgent shows the text of a sub-agent as a notice, because the main agent
// reports it later.
func (t *turn) subAgent(task string, b block) {
	if b.Type == "text" && b.Text != "" {
		t.Out.Notice("info", "Sub-agent "+task+": "+b.Text)
	}
}

func attachmentBlock(a *protocol.Attachment) stdio.Object {
	source := stdio.Object{"type": "base64", "media_type": a.MediaType, "data": a.Data}
	if text, ok := a.Text(); ok {
		source = stdio.Object{"type": "text", "media_type": "text/plain", "data": text}
	}
	block := stdio.Object{"type": a.Type, "source": source}
	if a.Name != "" && a.Type == protocol.AttachmentDocument {
		block["title"] = a.Name
	}
	return block
}

// encodePrompt returns the user message. Each message has a new id, because the
// program does not answer an id that it has seen, even before a restart.
func encodePrompt(prompt agenthost.Prompt, restored string) (id string, line json.RawMessage, err error) {
	var content []stdio.Object
	for _, a := range prompt.Attachments {
		content = append(content, attachmentBlock(&a))
	}
	if text := restored + prompt.Text; text != "" {
		content = append(content, stdio.Object{"type": "text", "text": text})
	}
	id = uuid.NewString()
	line, err = json.Marshal(stdio.Object{
		"type": "user", "uuid": id, "parent_tool_use_id": nil,
		"message": stdio.Object{"role": "user", "content": content},
	})
	if err != nil {
		return "", nil, fmt.Errorf("encode the prompt: %w", err)
	}
	return id, line, nil
}
