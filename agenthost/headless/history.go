package headless

import (
	"encoding/json"
	"strings"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Events that only sessions without a broker have: for other sessions the broker stores
// what the agent was asked.
const (
	EventInput        = core.EventInput
	EventInstructions = core.EventInstructions
)

// Reasons of a question's answer that lines depend on.
const (
	ReasonExpired      = core.ReasonExpired
	ReasonPolicyPrefix = core.ReasonPolicy
)

// History returns the lines of a session's event. A text is one message without its
// chunks. Events that clients do not see have none.
func History(sessionID string, e *protocol.Event) []protocol.Line {
	lines := linesOf(sessionID, e)
	for i := range lines {
		lines[i].Timestamp = e.Timestamp
	}
	return lines
}

func linesOf(sessionID string, e *protocol.Event) []protocol.Line {
	switch e.Type {
	case EventInput:
		line := protocol.Line{Type: protocol.LineInput, SessionID: sessionID, Text: e.Text}
		_ = json.Unmarshal(e.Input, &line.Attachments) // an input without attachments has no Input
		return []protocol.Line{line}
	case protocol.EventText:
		if e.Text != nil {
			return []protocol.Line{messageLine(sessionID, *e.Text, e)}
		}
	case protocol.EventToolCall:
		return []protocol.Line{toolLine(sessionID, e.ToolCallID, e.ToolName, e.Input)}
	case protocol.EventToolResult:
		return []protocol.Line{resultLine(sessionID, e.ToolCallID, e.ToolName, e.Output, e.IsError, e.Denied)}
	case protocol.EventInteraction:
		return interactionLines(sessionID, e)
	case protocol.EventError:
		return []protocol.Line{statusLine(sessionID, "error", e.Message)}
	case protocol.EventFinish:
		return []protocol.Line{waitingLine(sessionID, finishReason(e))}
	}
	return nil
}

func interactionLines(sessionID string, e *protocol.Event) []protocol.Line {
	if e.State == protocol.InteractionOpen {
		return []protocol.Line{questionLine(sessionID, e)}
	}
	if e.Answer == nil {
		return []protocol.Line{expiredLine(sessionID, e.InteractionID)}
	}
	line := protocol.Line{Type: ReplyType(e.Kind), SessionID: sessionID, RequestID: e.InteractionID}
	if e.Kind == protocol.KindAsk {
		line.Text = &e.Answer.Text
	} else {
		line.Value, line.Reason = e.Answer.Approved, e.Answer.Reason
	}
	if strings.HasPrefix(e.Answer.Reason, ReasonPolicyPrefix) { // the question was never open
		return []protocol.Line{questionLine(sessionID, e), line}
	}
	return []protocol.Line{line}
}

// isLost reports whether a turn ended because its host or agent was stopped.
func isLost(reason protocol.TurnReason) bool {
	switch reason {
	case protocol.ReasonHostRestarted, protocol.ReasonAgentRestarted, protocol.ReasonAgentStopped:
		return true
	}
	return false
}

func finishReason(e *protocol.Event) string {
	switch {
	case e.Reason == protocol.ReasonAborted:
		return protocol.WaitingInterrupted
	case e.FinishReason == protocol.FinishError, isLost(e.Reason), e.Reason == protocol.ReasonNotStarted:
		return protocol.WaitingError
	default:
		return protocol.WaitingDone
	}
}
