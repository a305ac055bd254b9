package agenthost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// Lines turns a session's frames, in their order, into lines of protocol section
// 4, so that a client of lines and a reader of the stream see the same turn. It
// is for one goroutine.
type Lines struct {
	h  *Host
	id string

	state   string          // of the last state line; "" between turns
	running map[string]bool // calls without a result
	text    strings.Builder // of the open text block
}

// Lines begins at a moment between turns, or with the open turn's first frame.
func (h *Host) Lines(sessionID string) *Lines {
	return &Lines{h: h, id: sessionID, running: map[string]bool{}}
}

// Begin is the line that says the agent thinks; none when the turn has begun
// already.
func (l *Lines) Begin() []protocol.Line {
	if l.state != "" {
		return nil
	}
	return l.turnTo(protocol.StateThinking)
}

// Translate returns the lines of one frame. An answer or a confirmation among
// them is not said to clients: it tells that a question is no longer open.
func (l *Lines) Translate(ctx context.Context, frame []byte) []protocol.Line {
	f, err := sse.NewReader(bytes.NewReader(frame)).Next()
	if err != nil {
		return nil // a ping
	}
	var p protocol.Part
	if json.Unmarshal(f.Data, &p) != nil || p.Type == protocol.PartDataResume {
		return nil
	}
	switch p.Type {
	case protocol.PartDataNotice:
		return l.notice(&p)
	case protocol.PartDataContextRestored:
		return l.restored(&p)
	}
	lines := l.Begin()
	if p.Terminal() {
		return append(lines, l.over(&p)...)
	}
	switch p.Type {
	case protocol.PartTextStart, protocol.PartTextDelta, protocol.PartTextEnd:
		return append(lines, l.spoken(ctx, f.ID, &p)...)
	case protocol.PartToolCall, protocol.PartToolResult, protocol.PartToolError, protocol.PartToolOutputDenied:
		return append(lines, l.tool(&p)...)
	case protocol.PartToolApprovalRequest:
		return append(lines, l.question(ctx, p.ApprovalID)...)
	case protocol.PartDataAsk:
		return append(lines, l.question(ctx, p.ID)...)
	case protocol.PartToolApprovalResponse:
		return append(lines, l.settled(protocol.LineConfirmation, p.ApprovalID, p.Reason == core.ReasonExpired)...)
	case protocol.PartDataAnswer:
		return append(lines, l.settled(protocol.LineAnswer, p.ID, expiredAsk(p.Data))...)
	}
	return lines
}

func (l *Lines) line(kind string) protocol.Line {
	return protocol.Line{Type: kind, SessionID: l.id}
}

// turnTo says the state when it has changed.
func (l *Lines) turnTo(state string) []protocol.Line {
	if l.state == state {
		return nil
	}
	l.state = state
	line := l.line(protocol.LineState)
	line.State = state
	return []protocol.Line{line}
}

func (l *Lines) over(p *protocol.Part) []protocol.Line {
	var lines []protocol.Line
	if p.Type == protocol.PartError {
		lines = append(lines, statusLine(l.id, "error", errorText(p.Error)))
	}
	clear(l.running)
	l.text.Reset()
	l.state = ""
	return append(lines, waitingLine(l.id, waitingReason(p)))
}

func waitingReason(p *protocol.Part) string {
	switch {
	case p.Type == protocol.PartAbort:
		return protocol.WaitingInterrupted
	case p.Type == protocol.PartError, p.RawFinishReason == protocol.ReasonHostRestarted:
		return protocol.WaitingError
	default:
		return protocol.WaitingDone
	}
}

func (l *Lines) spoken(ctx context.Context, frameID string, p *protocol.Part) []protocol.Line {
	switch {
	case p.Type == protocol.PartTextStart:
		l.text.Reset()
		return nil
	case p.Type == protocol.PartTextDelta && p.Text != nil:
		l.text.WriteString(*p.Text)
		line := l.line(protocol.LineChunk)
		line.Content = p.Text
		return []protocol.Line{line}
	case p.Event == nil:
		return nil
	}
	said := l.text.String()
	l.text.Reset()
	return []protocol.Line{messageLine(l.id, l.kept(ctx, frameID, p.Event, said), p.Event.ID, p.Event.TurnID)}
}

// kept is a text as it was kept: the agent's final word may differ from what it
// said in pieces.
func (l *Lines) kept(ctx context.Context, frameID string, e *protocol.PartEvent, said string) string {
	at, err := protocol.ParseStreamID(frameID)
	if err != nil {
		return said
	}
	rows, err := l.h.opts.Journal.Events(ctx, l.id, at.Epoch, e.Seq-1, 1)
	if err != nil || len(rows) == 0 || rows[0].EventID != e.ID {
		return said // under another position by now
	}
	event, err := eventOf(&rows[0])
	if err != nil || event.Text == nil {
		return said
	}
	return *event.Text
}

func (l *Lines) tool(p *protocol.Part) []protocol.Line {
	if p.Type == protocol.PartToolCall {
		l.running[p.ToolCallID] = true
		return append([]protocol.Line{toolLine(l.id, p.ToolCallID, p.ToolName, p.Input)}, l.turnTo(protocol.StateExecutingTool)...)
	}
	delete(l.running, p.ToolCallID)
	output, denied := p.Output, p.Type == protocol.PartToolOutputDenied
	if p.Type == protocol.PartToolError {
		output = p.Error
	}
	lines := []protocol.Line{resultLine(l.id, p.ToolCallID, p.ToolName, output, p.Type == protocol.PartToolError, denied)}
	if len(l.running) == 0 {
		lines = append(lines, l.turnTo(protocol.StateThinking)...)
	}
	return lines
}

// question is read from the journal: the part leaves out the prompt and how
// dangerous the call is.
func (l *Lines) question(ctx context.Context, id string) []protocol.Line {
	rec, err := l.h.opts.Journal.Interaction(ctx, l.id, id)
	if err != nil {
		return []protocol.Line{statusLine(l.id, "error", "A question of the agent cannot be read")}
	}
	return []protocol.Line{questionLine(l.id, &rec.Question)}
}

func (l *Lines) settled(kind, id string, expired bool) []protocol.Line {
	line := l.line(kind)
	line.RequestID = id
	lines := []protocol.Line{line}
	if expired {
		lines = append(lines, statusLine(l.id, "warning", "Question "+id+" expired without an answer"))
	}
	return lines
}

func expiredAsk(data json.RawMessage) bool {
	var end struct {
		State protocol.InteractionState `json:"state"`
	}
	return json.Unmarshal(data, &end) == nil && end.State == protocol.InteractionExpired
}

// notice is for everybody when the host itself gave it.
func (l *Lines) notice(p *protocol.Part) []protocol.Line {
	var n hostNotice
	if json.Unmarshal(p.Data, &n) != nil {
		return nil
	}
	if n.System {
		return []protocol.Line{statusLine("", n.Level, n.Message)}
	}
	return []protocol.Line{statusLine(l.id, n.Level, n.Message)}
}

// hostNotice is the data of a data-notice part.
type hostNotice struct {
	Level   string `json:"level"`
	Message string `json:"message"`
	System  bool   `json:"system,omitempty"` // of no session: for every client
}

// Notice tells every reader of every session something that belongs to none. It
// is shown, not kept.
func (h *Host) Notice(level, message string) {
	data, err := protocol.Marshal(hostNotice{level, message, true})
	if err == nil {
		data, err = protocol.Marshal(&protocol.Part{Type: protocol.PartDataNotice, Data: data})
	}
	if err != nil {
		return // strings only
	}
	frame := stream.Encode("", data)
	for _, s := range h.all() {
		s.mu.Lock()
		s.stream.Send(frame)
		s.mu.Unlock()
	}
}

// restored says that the agent had to be told what was said before.
func (l *Lines) restored(p *protocol.Part) []protocol.Line {
	var told protocol.ContextRestored
	if json.Unmarshal(p.Data, &told) != nil {
		return nil
	}
	return []protocol.Line{statusLine(l.id, "info", fmt.Sprintf("The agent goes on from the record of %d turns: its own memory was gone", told.Turns))}
}

func statusLine(sessionID, level, message string) protocol.Line {
	return protocol.Line{Type: protocol.LineStatus, SessionID: sessionID, Level: cmp.Or(level, "info"), Message: message}
}

func waitingLine(sessionID, reason string) protocol.Line {
	return protocol.Line{Type: protocol.LineState, SessionID: sessionID, State: protocol.StateWaitingForInput, Reason: reason}
}

func toolLine(sessionID, id, name string, input json.RawMessage) protocol.Line {
	return protocol.Line{Type: protocol.LineToolStart, SessionID: sessionID, ID: id, Name: name, Arguments: input}
}

func resultLine(sessionID, id, name string, output json.RawMessage, failed, denied bool) protocol.Line {
	content := plain(output)
	if denied && content == "" {
		content = "Denied"
	}
	return protocol.Line{
		Type: protocol.LineToolMessage, SessionID: sessionID, ID: id, Name: name, Content: &content, IsError: failed || denied,
	}
}

// plain is a JSON string as text, any other value as JSON.
func plain(value json.RawMessage) string {
	var text string
	if len(value) == 0 || string(value) == "null" || json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// errorText is the error of a part: a string or {name,message}.
func errorText(raw json.RawMessage) string {
	var named struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &named) == nil && named.Message != "" {
		return named.Message
	}
	return cmp.Or(plain(raw), "The agent failed")
}

// messageLine names the event, so that a client can merge it with what it read
// elsewhere.
func messageLine(sessionID, text, eventID, turnID string) protocol.Line {
	metadata, _ := protocol.Marshal(map[string]string{"event_id": eventID, "turn_id": turnID})
	return protocol.Line{Type: protocol.LineMessage, SessionID: sessionID, Content: &text, Format: "markdown", Metadata: metadata}
}

func questionLine(sessionID string, q *protocol.Event) protocol.Line {
	line := protocol.Line{Type: protocol.LineAsk, SessionID: sessionID, RequestID: q.InteractionID, Prompt: q.Prompt, Default: q.Default}
	if len(q.Options) > 0 {
		line.Metadata, _ = protocol.Marshal(map[string][]string{"options": q.Options})
	}
	if q.Kind == protocol.KindAsk {
		return line
	}
	line.Type, line.ToolName, line.Args = protocol.LineConfirm, q.ToolName, q.Args
	if q.Level != "" {
		_, why, _ := strings.Cut(q.Prompt, "\n") // where providers put a warning's message
		line.SecurityWarning = &protocol.SecurityWarning{Level: q.Level, Message: cmp.Or(why, q.Prompt)}
	}
	return line
}

func eventOf(row *EventRecord) (*protocol.Event, error) {
	var e protocol.Event
	if err := json.Unmarshal(row.Body, &e); err != nil {
		return nil, protocol.Errorf(protocol.CodeInternal, "the journal holds an event that cannot be read")
	}
	return &e, nil
}
