package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// Source reads what the parts of a stream leave out.
type Source interface {
	// Event returns the event at a position. CodeNotFound: there is none.
	Event(ctx context.Context, at protocol.Cursor) (*protocol.Event, error)
	// Input returns the input event of the turn that has the frame at offset; nil: it is not
	// known.
	Input(ctx context.Context, offset int64) (*protocol.Event, error)
	// Question returns the event that opened an interaction, with the state and the answer
	// that it has by now. CodeNotFound: there is none.
	Question(ctx context.Context, interactionID string) (*protocol.Event, error)
}

// Lines turns a session's frames, in their order, into lines, so that a client of lines
// and a reader of the stream see the same turn. It is for one goroutine.
type Lines struct {
	source    Source
	sessionID string
	now       func() time.Time

	state   string          // of the last state line; "" between turns
	running map[string]bool // calls without a result; false: not known to run yet, because it may be asked about
	open    map[string]bool // questions without an answer
	text    strings.Builder // of the open text block
}

// NewLines begins between two turns, or with the open turn's first frame.
func NewLines(sessionID string, source Source, now func() time.Time) *Lines {
	return &Lines{source: source, sessionID: sessionID, now: now, running: map[string]bool{}, open: map[string]bool{}}
}

// Begin returns the line that the agent is thinking, or none if the turn has begun
// already.
func (l *Lines) Begin() []protocol.Line {
	if l.state != "" {
		return nil
	}
	return l.stamped(l.changeState(protocol.StateThinking))
}

// Input returns a client's input as the other clients see it: with its attachments named.
func (l *Lines) Input(line *protocol.Line) protocol.Line {
	shown := line.Named()
	shown.SessionID = l.sessionID
	return l.Stamp(shown)
}

// Stamp adds the time to a line. It may be called by several goroutines.
func (l *Lines) Stamp(line protocol.Line) protocol.Line { return l.stamped([]protocol.Line{line})[0] }

// stamped adds the time to lines that have none of their own.
func (l *Lines) stamped(lines []protocol.Line) []protocol.Line {
	for i := range lines {
		if len(lines[i].Timestamp) == 0 {
			lines[i].Timestamp = strconv.AppendInt(nil, l.now().UnixMilli(), 10)
		}
	}
	return lines
}

// Translate returns the lines of one encoded frame. The first one of a turn has the turn's
// input before it.
func (l *Lines) Translate(ctx context.Context, frame []byte) []protocol.Line {
	return l.stamped(l.translate(ctx, frame))
}

func (l *Lines) translate(ctx context.Context, frame []byte) []protocol.Line {
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
	lines := l.begin(ctx, f.ID)
	if p.Terminal() {
		return append(lines, l.end(&p)...)
	}
	return append(lines, l.part(ctx, f.ID, &p)...)
}

// begin returns the lines that a turn begins with, or none if it has begun already.
func (l *Lines) begin(ctx context.Context, frameID string) []protocol.Line {
	if l.state != "" {
		return nil
	}
	var lines []protocol.Line
	if at, err := protocol.ParseStreamID(frameID); err == nil {
		if e, err := l.source.Input(ctx, at.Offset); err == nil && e != nil {
			lines = History(l.sessionID, e)
		}
	}
	return append(lines, l.changeState(protocol.StateThinking)...)
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
		lines := l.questionClosed(ctx, p.ApprovalID, p.Reason == ReasonExpired)
		return append(lines, l.continues(p.Approved != nil && *p.Approved)...)
	case protocol.PartDataAnswer:
		return append(l.questionClosed(ctx, p.ID, isExpired(p.Data)), l.continues(false)...)
	}
	return nil
}

// changeState returns the state's line, or none if it is the state already.
func (l *Lines) changeState(state string) []protocol.Line {
	if l.state == state {
		return nil
	}
	l.state = state
	line := protocol.Line{Type: protocol.LineState, SessionID: l.sessionID, State: state}
	if state == protocol.StateWaitingForInput {
		line.Reason = protocol.WaitingAsked
	}
	return []protocol.Line{line}
}

// Unsettled reports whether a call may run: no question about it has come, and no result.
func (l *Lines) Unsettled() bool {
	for _, runs := range l.running {
		if !runs && l.state == protocol.StateThinking {
			return true
		}
	}
	return false
}

// Settle returns the line that a call runs, if one is Unsettled. Agents ask about a call
// soon after they announce it, so the caller waits a little before.
func (l *Lines) Settle() []protocol.Line {
	if !l.Unsettled() {
		return nil
	}
	return l.stamped(l.executing())
}

// executing returns the line that calls run.
func (l *Lines) executing() []protocol.Line {
	for id := range l.running {
		l.running[id] = true
	}
	return l.changeState(protocol.StateExecutingTool)
}

// continues returns the state after an answer, unless another question is open.
func (l *Lines) continues(approved bool) []protocol.Line {
	switch {
	case len(l.open) > 0:
		return nil
	case approved:
		return l.executing()
	default:
		return l.changeState(protocol.StateThinking)
	}
}

// end returns the lines of the part that ends a turn.
func (l *Lines) end(p *protocol.Part) []protocol.Line {
	var lines []protocol.Line
	if p.Type == protocol.PartError {
		lines = append(lines, statusLine(l.sessionID, "error", errorText(p.Error)))
	}
	clear(l.running)
	clear(l.open)
	l.text.Reset()
	l.state = ""
	return append(lines, waitingLine(l.sessionID, waitingReason(p)))
}

func waitingReason(p *protocol.Part) string {
	switch {
	case p.Type == protocol.PartAbort:
		return protocol.WaitingInterrupted
	case p.Type == protocol.PartError, isLost(p.RawFinishReason):
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
	return []protocol.Line{messageLine(l.sessionID, l.storedText(ctx, frameID, p.Event, deltas), &protocol.Event{
		EventID: p.Event.ID, TurnID: p.Event.TurnID, Format: p.Format, Metadata: p.Metadata, Timestamp: p.Timestamp,
	})}
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
		l.running[p.ToolCallID] = false
		return []protocol.Line{toolLine(l.sessionID, p.ToolCallID, p.ToolName, p.Input)}
	}
	var lines []protocol.Line
	output, denied := p.Output, p.Type == protocol.PartToolOutputDenied
	if !denied && len(l.open) == 0 {
		lines = l.executing() // its state comes before its result
	}
	delete(l.running, p.ToolCallID)
	if p.Type == protocol.PartToolError {
		output = p.Error
	}
	failed := p.Type == protocol.PartToolError
	lines = append(lines, resultLine(l.sessionID, p.ToolCallID, p.ToolName, output, failed, denied))
	if len(l.running) == 0 && len(l.open) == 0 {
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
	l.open[id] = true
	return append([]protocol.Line{questionLine(l.sessionID, question)}, l.changeState(protocol.StateWaitingForInput)...)
}

// questionClosed returns the line that a question is no longer open, and who answered it.
func (l *Lines) questionClosed(ctx context.Context, id string, expired bool) []protocol.Line {
	delete(l.open, id)
	resolved := protocol.Line{Type: protocol.LineResolved, SessionID: l.sessionID, RequestID: id, By: protocol.ByInterrupt}
	if expired {
		resolved.By = protocol.ByTimeout
	} else if q, err := l.source.Question(ctx, id); err == nil && q.Answer != nil && q.Answer.By != "" {
		resolved.By = q.Answer.By
	}
	lines := []protocol.Line{resolved}
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
