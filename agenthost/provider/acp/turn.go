package acp

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// turn implements stdio.Exchange.
type turn struct {
	*stdio.Turn
	connection *connection

	blocks      blocks
	calls       []*call
	permissions int           // number of requests so far
	cancelled   bool          // session/cancel was sent
	sent        chan struct{} // closed when the program has the prompt
	used        used
	usage       json.RawMessage
}

// Prompt sends the prompt. The response is delivered as a message, after all
// earlier messages of the agent.
func (t *turn) Prompt(_ context.Context, prompt agenthost.Prompt, restored string) error {
	c := t.connection
	content := []sdk.ContentBlock{}
	if text := stdio.Join(restored, prompt.Text); text != "" {
		content = append(content, sdk.TextBlock(text))
	}
	for _, attachment := range prompt.Attachments {
		if text, ok := attachment.Text(); ok {
			content = append(content, sdk.TextBlock(stdio.Document(&attachment, text)))
			continue
		}
		if attachment.Type != protocol.AttachmentImage || !c.capabilities.PromptCapabilities.Image {
			t.Out.Notice("warning", stdio.NotTaken(&attachment))
			continue
		}
		content = append(content, sdk.ImageBlock(attachment.Data, attachment.MediaType))
	}
	c.unsent.Store(&t.sent)
	go func() {
		// Without the turn's context, because session/cancel ends the request.
		request := sdk.PromptRequest{SessionId: c.session, Prompt: content}
		response, err := sdk.SendRequest[sdk.PromptResponse](c.rpc, context.Background(), sdk.AgentMethodSessionPrompt,
			request)
		if err != nil && (c.child.IsEnding() || isClosed(c.rpc.Done())) {
			return // the engine reports the program's exit
		}
		c.deliver(message{finish: &finish{response: response, err: err}})
	}()
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Cancel implements stdio.Exchange. It does not block if the program does not read. A program that is asked before it
// has the prompt ignores that.
func (t *turn) Cancel(ctx context.Context) {
	if !t.cancelled {
		t.cancelled = true
		c := t.connection
		go func() {
			select {
			case <-t.sent:
			case <-c.child.Ended():
				return
			}
			_ = c.rpc.SendNotification(ctx, sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: c.session})
		}()
	}
}

// Drain implements stdio.Exchange.
func (t *turn) Drain(m message, muted bool) (stopped bool, err error) {
	switch {
	case m.question != nil:
		m.question.answer(sdk.NewRequestPermissionOutcomeCancelled())
	case m.finish != nil:
		t.finished(m.finish)
		return true, nil
	case !muted:
		_, err = t.Handle(m)
	}
	return false, err
}

// Close implements stdio.Exchange. It announces the calls whose input was
// incomplete.
func (t *turn) Close(cancelled bool) error {
	if cancelled {
		return t.blocks.end()
	}
	if err := t.announceAll(); err != nil {
		return err
	}
	if err := t.blocks.end(); err != nil {
		return err
	}
	return t.resolveDenied()
}

// Usage implements stdio.Exchange.
func (t *turn) Usage() json.RawMessage { return t.usage }

// Handle maps one message. An outcome ends the turn.
func (t *turn) Handle(m message) (*agenthost.Outcome, error) {
	switch {
	case m.question != nil:
		return nil, t.permit(m.question)
	case m.finish != nil:
		return t.finished(m.finish), nil
	default:
		return nil, t.update(*m.update)
	}
}

// update maps one session update and ignores invisible kinds.
func (t *turn) update(u update) error {
	switch u.Kind {
	case "agent_message_chunk":
		return t.chunk(text, u)
	case "agent_thought_chunk":
		return t.chunk(reasoning, u)
	case "tool_call", "tool_call_update":
		return t.toolUpdate(u)
	case "usage_update":
		t.used.context, t.used.window = u.Used, u.Size
		t.used.dollars += t.connection.spent.report(u.Cost)
		return t.announceAll()
	case "current_mode_update":
		t.Out.Notice("info", "The agent is now in the mode "+u.Mode)
	}
	return nil
}

func (t *turn) chunk(kind int, u update) error {
	b := u.chunk()
	delta := b.Text
	switch b.Type {
	case "text":
	case "resource_link":
		delta = b.URI
	default:
		t.Out.Notice("warning", fmt.Sprintf("The agent sent content of the type %.40q, which is not shown", b.Type))
		return nil
	}
	if delta == "" {
		return nil
	}
	if err := t.announceAll(); err != nil {
		return err
	}
	if err := t.resolveDenied(); err != nil {
		return err
	}
	return t.blocks.add(kind, u.MessageID, delta)
}

// resolveDenied gives denied calls the result that some agents leave out.
func (t *turn) resolveDenied() error {
	for _, c := range t.calls {
		if !c.Denied() {
			continue
		}
		if err := t.Result(&c.Call, stdio.Encode(stdio.Object{"status": "rejected"}), false); err != nil {
			return err
		}
	}
	return nil
}
