package headless

import (
	"cmp"
	"encoding/json"
	"fmt"

	"bellhop/protocol"
)

func statusLine(sessionID, level, message string) protocol.Line {
	return protocol.Line{Type: protocol.LineStatus, SessionID: sessionID, Level: cmp.Or(level, "info"), Message: message}
}

func expiredLine(sessionID, interactionID string) protocol.Line {
	return statusLine(sessionID, "warning", "Question "+interactionID+" expired without an answer")
}

func restoredLine(sessionID string, turns int) protocol.Line {
	return statusLine(sessionID, "info",
		fmt.Sprintf("The agent goes on from the record of %d turns: its own memory was gone", turns))
}

func waitingLine(sessionID, reason string) protocol.Line {
	return protocol.Line{
		Type: protocol.LineState, SessionID: sessionID, State: protocol.StateWaitingForInput, Reason: reason,
	}
}

func toolLine(sessionID, id, name string, input json.RawMessage) protocol.Line {
	return protocol.Line{Type: protocol.LineToolStart, SessionID: sessionID, ID: id, Name: name, Arguments: input}
}

func resultLine(sessionID, id, name string, output json.RawMessage, failed, denied bool) protocol.Line {
	content := PlainText(output)
	if denied && content == "" {
		content = "Denied"
	}
	return protocol.Line{
		Type: protocol.LineToolMessage, SessionID: sessionID, ID: id, Name: name,
		Content: &content, IsError: failed || denied,
	}
}

// PlainText returns a JSON string as its text, null as "", and any other value as JSON.
func PlainText(value json.RawMessage) string {
	var text string
	if len(value) == 0 || string(value) == "null" || json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// errorText returns the text of a part's error: a string or {name,message}.
func errorText(raw json.RawMessage) string {
	var named struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &named) == nil && named.Message != "" {
		return named.Message
	}
	return cmp.Or(PlainText(raw), "The agent failed")
}

// messageLine names the event, so that a client can merge it with what it read elsewhere. It
// has the agent's own metadata, format and timestamp.
func messageLine(sessionID, text string, e *protocol.Event) protocol.Line {
	metadata := map[string]any{}
	var own map[string]json.RawMessage
	_ = json.Unmarshal(e.Metadata, &own) // most texts have none
	for name, value := range own {
		metadata[name] = value
	}
	metadata["event_id"], metadata["turn_id"] = e.EventID, e.TurnID
	encoded, _ := protocol.Marshal(metadata)
	return protocol.Line{
		Type: protocol.LineMessage, SessionID: sessionID, Content: &text, Format: cmp.Or(e.Format, "markdown"),
		Metadata: encoded, Timestamp: e.Timestamp,
	}
}

func questionLine(sessionID string, q *protocol.Event) protocol.Line {
	line := protocol.Line{
		Type: protocol.LineAsk, SessionID: sessionID, RequestID: q.InteractionID, Prompt: q.Prompt, Default: q.Default,
	}
	if len(q.Options) > 0 {
		line.Metadata, _ = protocol.Marshal(map[string][]string{"options": q.Options})
	}
	if q.Kind == protocol.KindAsk {
		return line
	}
	line.Type, line.ToolName, line.Args = protocol.LineConfirm, q.ToolName, q.Args
	if q.Level != "" {
		line.SecurityWarning = &protocol.SecurityWarning{Level: q.Level, Message: cmp.Or(q.Warning, q.Prompt)}
	}
	return line
}
