package agenthost

import (
	"context"
	"encoding/json"
	"strings"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

const historyPage = 500

// History is a session's lines so far, both ways, in order, from the journal: a
// text is one message, its pieces are gone. What was said to the agent is in the
// history of headless sessions; of others the broker has it.
func (h *Host) History(ctx context.Context, sessionID string) ([]protocol.Line, error) {
	if _, err := h.session(sessionID); err != nil {
		return nil, err
	}
	lines := []protocol.Line{}
	var at protocol.Cursor
	for {
		rows, err := h.opts.Journal.Pending(ctx, sessionID, at, historyPage)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			e, err := eventOf(&rows[i])
			if err != nil {
				return nil, err
			}
			lines = append(lines, historyLines(sessionID, e)...)
			at = rows[i].Cursor
		}
		if len(rows) < historyPage {
			return lines, nil
		}
	}
}

func historyLines(id string, e *protocol.Event) []protocol.Line {
	switch e.Type {
	case core.EventInput:
		line := protocol.Line{Type: protocol.LineInput, SessionID: id, Text: e.Text}
		_ = json.Unmarshal(e.Input, &line.Attachments) // none is written as none
		return []protocol.Line{line}
	case protocol.EventText:
		if e.Text != nil {
			return []protocol.Line{messageLine(id, *e.Text, e.EventID, e.TurnID)}
		}
	case protocol.EventToolCall:
		return []protocol.Line{toolLine(id, e.ToolCallID, e.ToolName, e.Input)}
	case protocol.EventToolResult:
		return []protocol.Line{resultLine(id, e.ToolCallID, e.ToolName, e.Output, e.IsError, e.Denied)}
	case protocol.EventInteraction:
		return interactionLines(id, e)
	case protocol.EventError:
		return []protocol.Line{statusLine(id, "error", e.Message)}
	case protocol.EventFinish:
		return []protocol.Line{waitingLine(id, finishReason(e))}
	}
	return nil
}

func interactionLines(id string, e *protocol.Event) []protocol.Line {
	if e.State == protocol.InteractionOpen {
		return []protocol.Line{questionLine(id, e)}
	}
	line := protocol.Line{Type: replyTo(e.Kind), SessionID: id, RequestID: e.InteractionID}
	switch {
	case e.Answer == nil:
		return []protocol.Line{statusLine(id, "warning", "Question "+e.InteractionID+" expired without an answer")}
	case e.Kind == protocol.KindAsk:
		line.Text = &e.Answer.Text
	default:
		line.Value, line.Reason = e.Answer.Approved, e.Answer.Reason
	}
	if e.Answer != nil && strings.HasPrefix(e.Answer.Reason, core.ReasonPolicy) { // nobody was asked before
		return []protocol.Line{questionLine(id, e), line}
	}
	return []protocol.Line{line}
}

func finishReason(e *protocol.Event) string {
	switch {
	case e.Reason == protocol.ReasonAborted:
		return protocol.WaitingInterrupted
	case e.FinishReason == protocol.FinishError, e.Reason == protocol.ReasonHostRestarted, e.Reason == protocol.ReasonNotStarted:
		return protocol.WaitingError
	default:
		return protocol.WaitingDone
	}
}
