package codex

import (
	"context"
	"encoding/json"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// turn implements stdio.Exchange.
type turn struct {
	*stdio.Turn
	connection *connection

	request   string // the id of the turn/start request
	id        string // "" until the program has sent the turn's id
	interrupt string // the id of the turn/interrupt request; "" until it is sent
	refused   bool   // the program has refused it, because the turn has not begun

	blocks        blocks
	elicitedCalls map[*stdio.Call]bool // calls that an MCP server asked about
	usage         json.RawMessage

	before      tokens // the thread's usage before the turn
	knowsBefore bool
}

// Prompt implements stdio.Exchange.
func (t *turn) Prompt(ctx context.Context, prompt agenthost.Prompt, restored string) error {
	var input []stdio.Object
	if text := stdio.Join(restored, prompt.Text); text != "" {
		input = append(input, stdio.Object{"type": "text", "text": text})
	}
	for _, attachment := range prompt.Attachments {
		if text, ok := attachment.Text(); ok {
			input = append(input, stdio.Object{"type": "text", "text": stdio.Document(&attachment, text)})
			continue
		}
		if attachment.Type != protocol.AttachmentImage {
			t.Out.Notice("warning", stdio.NotTaken(&attachment))
			continue
		}
		input = append(input,
			stdio.Object{"type": "image", "url": "data:" + attachment.MediaType + ";base64," + attachment.Data})
	}
	request := t.connection.request("turn/start", stdio.Object{"threadId": t.connection.thread, "input": input})
	t.request = string(request.ID)
	return t.connection.child.Send(ctx, request)
}

// Cancel asks the program to stop the turn. Before the turn's id is known it does nothing:
// the caller calls it again, and a turn that ends first is reported as ended.
func (t *turn) Cancel(context.Context) {
	if t.interrupt != "" || t.id == "" {
		return
	}
	request := t.connection.request("turn/interrupt", stdio.Object{"threadId": t.connection.thread, "turnId": t.id})
	t.interrupt = string(request.ID)
	t.connection.child.Offer(request)
}

// Drain implements stdio.Exchange.
func (t *turn) Drain(m message, muted bool) (stopped bool, err error) {
	if t.refused { // something has changed since
		t.refused, t.interrupt = false, ""
	}
	if t.interrupt != "" && m.Method == "" && string(m.ID) == t.interrupt {
		t.refused = m.Error != nil
	}
	var outcome *agenthost.Outcome
	switch {
	case m.isRequest():
		t.connection.Reject(m)
	case muted:
		outcome = t.lifecycle(m)
	default:
		outcome, err = t.Handle(m)
	}
	return outcome != nil, err
}

// Close implements stdio.Exchange.
func (t *turn) Close(bool) error { return t.blocks.end("") }

// Usage implements stdio.Exchange.
func (t *turn) Usage() json.RawMessage { return t.usage }
