package outbound

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bellhop/protocol"
)

const (
	maxSummaryTitle = 120 // bytes
	maxSummaryText  = 700
)

// Summary is an event in words for people. Title and Text are one harmless paragraph each.
type Summary struct {
	Event         protocol.NotificationEvent // "" for a turn that the user stopped, or that never started
	Title         string                     // of the task
	Text          string
	Complete      bool // Text is everything that the user is asked, unchanged
	Kind          protocol.InteractionKind
	Level         string
	InteractionID string
	SourceID      string
	ExpiresAt     time.Time // of a question; zero = never
}

// facts are the members of an event's data that a Summary needs.
type facts struct {
	Title         string                   `json:"title"`
	FinishReason  protocol.FinishReason    `json:"finishReason"`
	Reason        protocol.TurnReason      `json:"reason"`
	InteractionID string                   `json:"interactionId"`
	Kind          protocol.InteractionKind `json:"kind"`
	Prompt        string                   `json:"prompt"`
	Level         string                   `json:"level"`
	Warning       string                   `json:"warning"`
	ExpiresAt     string                   `json:"expiresAt"`
	SourceID      string                   `json:"sourceId"`
	Failure       string                   `json:"failure"`
}

// Summary describes the event for people.
func (e *TaskEvent) Summary() (*Summary, error) {
	data, err := protocol.Marshal(e.Data)
	if err != nil {
		return nil, fmt.Errorf("outbound: data of %s: %w", e.Type, err)
	}
	var f facts
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("outbound: data of %s: %w", e.Type, err)
	}
	s := &Summary{
		Title: protocol.PlainText(f.Title, maxSummaryTitle), Kind: f.Kind, Level: f.Level,
		InteractionID: f.InteractionID, SourceID: f.SourceID,
	}
	text := ""
	switch e.Type {
	case protocol.WebhookInteractionOpened:
		s.Event, text = protocol.NotifyQuestion, question(&f, e.Args)
		s.ExpiresAt, _ = time.Parse(time.RFC3339, f.ExpiresAt) // zero for one that is malformed
	case protocol.WebhookTurnFinished:
		s.Event, text = endOfTurn(&f)
	case protocol.WebhookFollowupAnswered:
		s.Event, s.Title = protocol.NotifyFollowup, "An agent has answered"
		text = "Your question about a source has an answer"
	case protocol.WebhookFollowupFailed:
		s.Event, s.Title = protocol.NotifyFollowup, "A question was not answered"
		text = "The agent did not answer: " + f.Failure
	}
	s.Text = protocol.PlainText(text, maxSummaryText)
	s.Complete = s.Text == text
	return s, nil
}

// endOfTurn returns no event for a turn that a user stopped or replaced: the user knows it.
func endOfTurn(f *facts) (protocol.NotificationEvent, string) {
	switch f.Reason {
	case protocol.ReasonAborted, protocol.ReasonNotStarted, protocol.ReasonAgentRestarted:
		return "", "The turn was stopped"
	case protocol.ReasonHostLost, protocol.ReasonHostRestarted:
		return protocol.NotifyFailed, "The turn is lost: its host was lost or restarted"
	case protocol.ReasonAgentExited, protocol.ReasonAgentStopped:
		return protocol.NotifyFailed, "The turn has failed: its agent ended"
	}
	switch f.FinishReason {
	case protocol.FinishError, protocol.FinishContentFilter, protocol.FinishOther:
		return protocol.NotifyFailed, "The turn has failed"
	default:
		return protocol.NotifyFinished, "The turn is over"
	}
}

// question is the text of a question with everything that a yes would allow.
func question(f *facts, args json.RawMessage) string {
	text := f.Prompt
	if hasOnlyWords := areWords(args); hasOnlyWords || !covers(text, args) {
		var compact bytes.Buffer
		if json.Compact(&compact, args) != nil {
			compact.Reset()
			compact.WriteString("(unreadable arguments)\n") // the line feed makes the text not Complete
		}
		text += " " + compact.String()
		if hasOnlyWords {
			text += " (only words of the agent)\n" // the line feed makes the text not Complete
		}
	}
	if f.Warning != "" {
		text += " (" + f.Warning + ")"
	}
	return text
}

// areWords reports whether the arguments are only text for people, which says nothing about what a yes would allow.
func areWords(args json.RawMessage) bool {
	var members map[string]any
	if json.Unmarshal(args, &members) != nil || len(members) == 0 {
		return false
	}
	for name := range members {
		if !protocol.IsWord(name) {
			return false
		}
	}
	return true
}

// covers reports whether a prompt contains all arguments, which are texts then.
func covers(prompt string, args json.RawMessage) bool {
	if len(args) == 0 || string(args) == "null" {
		return true
	}
	var members map[string]any
	if json.Unmarshal(args, &members) != nil {
		return false
	}
	for _, value := range members {
		text, isText := value.(string)
		if !isText || !strings.Contains(prompt, text) {
			return false
		}
	}
	return true
}
