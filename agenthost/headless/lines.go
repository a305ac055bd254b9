package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// Source reads what the parts of a stream leave out.
type Source interface {
	// Event returns the event at a position. CodeNotFound: there is none.
	Event(ctx context.Context, at protocol.Cursor) (*protocol.Event, error)
	// Question returns the event that opened an interaction. CodeNotFound: there is none.
	Question(ctx context.Context, interactionID string) (*protocol.Event, error)
}

// Lines turns a session's frames, in their order, into lines, so that a client of lines
// and a reader of the stream see the same turn. It is for one goroutine.
type Lines struct {
	source    Source
	sessionID string

	state   string          // of the last state line; "" between turns
	running map[string]bool // calls without a result
	text    strings.Builder // of the open text block
}

// NewLines begins between two turns, or with the open turn's first frame.
func NewLines(sessionID string, source Source) *Lines {
	return &Lines{source: source, sessionID: sessionID, running: map[string]bool{}}
}

// Begin returns the line that the agent is thinking, or none if the turn has begun
// already.
func (l *Lines) Begin() []protocol.Line {
	if l.state != "" {
		return nil
	}
	return l.changeState(protocol.StateThinking)
}

// Translate returns the lines of one encoded frame. An answer or a confirmation among
// them is not for clients: it means that a question is no longer open.
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
		return l.contextRestored(&p)
	}
	lines := l.Begin()
	if p.Terminal() {
		return append(lines, l.end(&p)...)
	}
	return append(lines, l.part(ctx, f.ID, &p)...)
}

// part returns the lines of a part within a turn.
func (l *Lines) part(ctx context.Context, frameID string, p *protocol.Part) []protocol.Line {
	switch p.Type {
	case protocol.PartTextStart, protocol.PartTextDelta, protocol.PartTextEnd:
		return l.textPart(ctx, frameID, p)
	case protocol.PartToolCall, protocol.PartToolResult, protocol.PartToolError, protocol.PartToolOutputDenied:
		return l.toolPart(p)
	case protocol.PartToolApprovalRequest:
		return l.question(ctx, p.ApprovalID)
	case protocol.PartDataAsk:
		return l.question(ctx, p.ID)
	case protocol.PartToolApprovalResponse:
		return l.questionClosed(protocol.LineConfirmation, p.ApprovalID, p.Reason == ReasonExpired)
	case protocol.PartDataAnswer:
		return l.questionClosed(protocol.LineAnswer, p.ID, isExpired(p.Data))
	}
	return nil
}

// changeState returns the state's line, or none if it is the state already.
func (l *Lines) changeState(state string) []protocol.Line {
	if l.state == state {
		return nil
	}
	l.state = state
	return []protocol.Line{{Type: protocol.LineState, SessionID: l.sessionID, State: state}}
}

// end returns the lines of the part that ends a turn.
func (l *Lines) end(p *protocol.Part) []protocol.Line {
	var lines []protocol.Line
	if p.Type == protocol.PartError {
		lines = append(lines, statusLine(l.sessionID, "error", errorText(p.Error)))
	}
	clear(l.running)
	l.text.Reset()
	l.state = ""
	return append(lines, waitingLine(l.sessionID, waitingReason(p)))
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

func (l *Lines) textPart(ctx context.Context, frameID string, p *protocol.Part) []protocol.Line {
	switch {
	case p.Type == protocol.PartTextStart:
		l.text.Reset()
		return nil
	case p.Type == protocol.PartTextDelta && p.Text != nil:
		l.text.WriteString(*p.Text)
		return []protocol.Line{{Type: protocol.LineChunk, SessionID: l.sessionID, Content: p.Text}}
	case p.Event == nil:
		return nil
	}
	deltas := l.text.String()
	l.text.Reset()
	text := l.storedText(ctx, frameID, p.Event, deltas)
	return []protocol.Line{messageLine(l.sessionID, text, p.Event.ID, p.Event.TurnID)}
}

// storedText returns a text as the journal has it: an agent's final text can differ from
// its deltas. If the event is no longer at its position, that is the deltas.
func (l *Lines) storedText(ctx context.Context, frameID string, e *protocol.PartEvent, deltas string) string {
	at, err := protocol.ParseStreamID(frameID)
	if err != nil {
		return deltas
	}
	event, err := l.source.Event(ctx, protocol.Cursor{Epoch: at.Epoch, Seq: e.Seq})
	if err != nil || event.EventID != e.ID || event.Text == nil {
		return deltas
	}
	return *event.Text
}

func (l *Lines) toolPart(p *protocol.Part) []protocol.Line {
	if p.Type == protocol.PartToolCall {
		l.running[p.ToolCallID] = true
		call := toolLine(l.sessionID, p.ToolCallID, p.ToolName, p.Input)
		return append([]protocol.Line{call}, l.changeState(protocol.StateExecutingTool)...)
	}
	delete(l.running, p.ToolCallID)
	output, denied := p.Output, p.Type == protocol.PartToolOutputDenied
	if p.Type == protocol.PartToolError {
		output = p.Error
	}
	lines := []protocol.Line{resultLine(l.sessionID, p.ToolCallID, p.ToolName, output, p.Type == protocol.PartToolError, denied)}
	if len(l.running) == 0 {
		lines = append(lines, l.changeState(protocol.StateThinking)...)
	}
	return lines
}

// question reads the question from the source: the part has neither the prompt nor the
// danger of the call.
func (l *Lines) question(ctx context.Context, id string) []protocol.Line {
	question, err := l.source.Question(ctx, id)
	if err != nil {
		return []protocol.Line{statusLine(l.sessionID, "error", "A question of the agent cannot be read")}
	}
	return []protocol.Line{questionLine(l.sessionID, question)}
}

func (l *Lines) questionClosed(kind, id string, expired bool) []protocol.Line {
	lines := []protocol.Line{{Type: kind, SessionID: l.sessionID, RequestID: id}}
	if expired {
		lines = append(lines, expiredLine(l.sessionID, id))
	}
	return lines
}

func isExpired(data json.RawMessage) bool {
	var end struct {
		State protocol.InteractionState `json:"state"`
	}
	return json.Unmarshal(data, &end) == nil && end.State == protocol.InteractionExpired
}

// Notice is the data of a data-notice part.
type Notice struct {
	Level   string `json:"level"`
	Message string `json:"message"`
	System  bool   `json:"system,omitempty"` // from the host itself, for every client
}

func (l *Lines) notice(p *protocol.Part) []protocol.Line {
	var n Notice
	if json.Unmarshal(p.Data, &n) != nil {
		return nil
	}
	if n.System {
		return []protocol.Line{statusLine("", n.Level, n.Message)}
	}
	return []protocol.Line{statusLine(l.sessionID, n.Level, n.Message)}
}

func (l *Lines) contextRestored(p *protocol.Part) []protocol.Line {
	var restored protocol.ContextRestored
	if json.Unmarshal(p.Data, &restored) != nil {
		return nil
	}
	return []protocol.Line{restoredLine(l.sessionID, restored.Turns)}
}
