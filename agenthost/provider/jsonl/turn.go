package jsonl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// turn implements stdio.Exchange.
type turn struct {
	*stdio.Turn
	connection *connection

	calls       []*call
	lastError   string // of a status line
	usage       string // the usage of the newest message, which is the cost of the turn so far
	interrupted bool   // the program was asked to stop
}

// call is a tool call of this turn.
type call struct {
	stdio.Call
	agentID string // the program's own id, which it may reuse
}

func newTurn(t *stdio.Turn, c *connection) *turn { return &turn{Turn: t, connection: c} }

// Prompt implements stdio.Exchange. The error has CodeTooLarge if the line is
// longer than programs must accept.
func (t *turn) Prompt(ctx context.Context, prompt agenthost.Prompt, restored string) error {
	text := restored + prompt.Text
	input, err := json.Marshal(protocol.Line{
		Type:        protocol.LineInput,
		SessionID:   t.connection.sessionID,
		Text:        &text,
		Attachments: prompt.Attachments,
	})
	if err != nil {
		return fmt.Errorf("encode the prompt: %w", err)
	}
	return t.connection.child.SendPrompt(ctx, input)
}

// Cancel implements stdio.Exchange.
func (t *turn) Cancel(context.Context) {
	if !t.interrupted {
		t.interrupted = true
		t.connection.child.Offer(protocol.Line{Type: protocol.LineInterrupt, SessionID: t.connection.sessionID})
	}
}

// Drain implements stdio.Exchange.
func (t *turn) Drain(line protocol.Line, muted bool) (stopped bool, err error) {
	stopped = line.EndsTurn()
	question := line.Type == protocol.LineAsk || line.Type == protocol.LineConfirm
	if !muted && !question {
		_, err = t.Handle(line)
	}
	return stopped, err
}

// Close implements stdio.Exchange.
func (t *turn) Close(bool) error { return t.Out.EndText("") }

// Usage implements stdio.Exchange. The last line of a turn contains its usage.
func (t *turn) Usage() json.RawMessage { return nil }

// Handle maps one line. An outcome ends the turn.
func (t *turn) Handle(line protocol.Line) (*agenthost.Outcome, error) {
	switch line.Type {
	case protocol.LineChunk:
		if content(&line) == "" {
			return nil, nil
		}
		return nil, t.Out.Text(content(&line))
	case protocol.LineMessage:
		t.usage = cmp.Or(usageOf(line.Metadata), t.usage)
		return nil, t.Out.EndMessage(content(&line), about(&line))
	case protocol.LineStatus:
		if line.Level == "error" {
			t.lastError = line.Message
		}
		t.Out.Notice(cmp.Or(line.Level, "info"), line.Message)
		return nil, nil
	case protocol.LineToolMessage:
		return nil, t.toolMessage(&line)
	}
	return t.boundary(&line)
}

// about returns what a message line has beside its text. Members of other types are left
// out.
func about(line *protocol.Line) agenthost.TextAbout {
	a := agenthost.TextAbout{Format: line.Format}
	var object map[string]json.RawMessage
	if json.Unmarshal(line.Metadata, &object) == nil && object != nil {
		a.Metadata = line.Metadata
	}
	var at json.Number
	if json.Unmarshal(line.Timestamp, &at) == nil && at != "" {
		a.Timestamp = line.Timestamp
	}
	return a
}

// boundary maps the lines that close a text block.
func (t *turn) boundary(line *protocol.Line) (*agenthost.Outcome, error) {
	switch line.Type {
	case protocol.LineToolStart, protocol.LineAsk, protocol.LineConfirm, protocol.LineState:
	case protocol.LineHello, protocol.LineResolved:
		return nil, nil
	default:
		t.Skip(fmt.Sprintf("a message of the unknown type %.40q", line.Type))
		return nil, nil
	}
	if err := t.Out.EndText(""); err != nil {
		return nil, err
	}
	switch line.Type {
	case protocol.LineToolStart:
		return nil, t.toolStart(line)
	case protocol.LineAsk, protocol.LineConfirm:
		t.question(line)
		return nil, nil
	}
	if !line.EndsTurn() {
		return nil, nil
	}
	outcome := t.outcome(line.Reason)
	if t.usage != "" {
		outcome.Usage = json.RawMessage(t.usage)
	}
	return outcome, nil
}

// usageOf returns the usage object in a message's metadata, or "".
func usageOf(metadata json.RawMessage) string {
	var known struct {
		Usage map[string]json.RawMessage `json:"usage"`
	}
	if json.Unmarshal(metadata, &known) != nil || known.Usage == nil {
		return ""
	}
	return string(stdio.Encode(known.Usage))
}

func (t *turn) outcome(reason string) *agenthost.Outcome {
	switch reason {
	case protocol.WaitingInterrupted:
		return stdio.Aborted()
	case protocol.WaitingError:
		return stdio.Failure(cmp.Or(t.lastError, "The agent reports an error"))
	default:
		return &agenthost.Outcome{FinishReason: protocol.FinishStop}
	}
}

func (t *turn) toolStart(line *protocol.Line) error {
	c := &call{agentID: line.ID}
	c.ID, c.Name, c.Input = line.ID, cmp.Or(line.Name, "tool"), stdio.OrEmpty(line.Arguments)
	// Some agents restart the numbering of calls in every step.
	for n := 2; c.ID == "" || t.Find(c.ID) != nil; n++ {
		c.ID = fmt.Sprintf("%s~%d", cmp.Or(line.ID, "call"), n)
	}
	t.calls = append(t.calls, c)
	return t.Announce(&c.Call)
}

func (t *turn) toolMessage(line *protocol.Line) error {
	for _, c := range slices.Backward(t.calls) {
		if c.agentID == line.ID && !c.Answered() {
			return t.Result(&c.Call, stdio.Encode(content(line)), line.IsError)
		}
	}
	t.Skip("a tool result without its call")
	return nil
}

func content(line *protocol.Line) string {
	if line.Content == nil {
		return ""
	}
	return *line.Content
}
