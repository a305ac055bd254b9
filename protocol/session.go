package protocol

import (
	"encoding/json"
	"time"
)

// OpenSessionRequest is POST /session on the agent host. Only SessionID and
// WebhookURL are sent by a basic broker.
type OpenSessionRequest struct {
	SessionID  string         `json:"sessionId"`
	WebhookURL string         `json:"webhookUrl"`
	BrokerID   string         `json:"brokerId,omitempty"`
	Cursor     *Cursor        `json:"cursor,omitempty"`
	Agent      string         `json:"agent,omitempty"`
	Project    string         `json:"project,omitempty"`
	Model      string         `json:"model,omitempty"`
	Turn       *AnnouncedTurn `json:"turn,omitempty"`
	Attach     bool           `json:"attach,omitempty"` // the token reads, answers and interrupts; it cannot prompt
}

// AnnouncedTurn is a turn that a token of this answer may start, once.
// PromptSHA256 is the hex SHA-256 of the message's UTF-8 bytes; "" binds nothing.
type AnnouncedTurn struct {
	ID           string `json:"id"`
	PromptSHA256 string `json:"promptSha256,omitempty"`
}

// OpenSessionResponse answers POST /session. A basic host answers Token alone.
type OpenSessionResponse struct {
	Token        string     `json:"token"`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty"`
	StreamURL    string     `json:"streamUrl,omitempty"`
	Cursor       *Cursor    `json:"cursor,omitempty"`
	StreamCursor *string    `json:"streamCursor"` // stream id just before the open turn; null when idle
	Status       Status     `json:"status,omitempty"`
	Reason       string     `json:"reason,omitempty"`
	OpenTurn     string     `json:"openTurn,omitempty"`    // the started, unfinished turn; "" when none
	QueuedTurns  []string   `json:"queuedTurns,omitempty"` // prompted, waiting for the open one
	Capabilities []string   `json:"capabilities,omitempty"`
}

// Capabilities a host may name in OpenSessionResponse.
const (
	CapabilityEvents       = "events"
	CapabilityResume       = "resume"
	CapabilityInteractions = "interactions"
	CapabilityDiff         = "diff"
)

// PromptRequest is POST /stream/:sessionId on the agent host.
type PromptRequest struct {
	Prompt      string       `json:"prompt"`
	Attachments []Attachment `json:"attachments,omitempty"`
	WhenBusy    string       `json:"whenBusy,omitempty"`
}

// What a prompt does while another turn is open. Reject answers 409 busy and is
// the default; queue waits, interrupt ends the open turn and goes before all that
// wait. The stream of a turn that waits begins with a data-queued part.
const (
	WhenBusyReject    = "reject"
	WhenBusyQueue     = "queue"
	WhenBusyInterrupt = "interrupt"
)

// Attachment is an image; Data is base64 (RFC 4648 section 4).
type Attachment struct {
	Type      string `json:"type"`
	MediaType string `json:"mediaType,omitempty"`
	Data      string `json:"data"`
}

// AnswerRequest answers an interaction, on the broker and on the host.
type AnswerRequest struct {
	Approved *bool  `json:"approved,omitempty"`
	Text     string `json:"text,omitempty"`
	Remember string `json:"remember,omitempty"` // "" or RememberSession
	Reason   string `json:"reason,omitempty"`
}

// RememberSession allows the same tool for the rest of the session.
const RememberSession = "session"

// EventsResponse answers GET /session/:id/events on the agent host. NextAfter
// is the seq to ask after next; fewer events than the limit mean the end.
type EventsResponse struct {
	Epoch     int64             `json:"epoch"`
	Events    []json.RawMessage `json:"events"`
	NextAfter int64             `json:"nextAfter"`
	Status    Status            `json:"status"`
	OpenTurn  string            `json:"openTurn,omitempty"`

	QueuedTurns []string `json:"queuedTurns,omitempty"`
}

// IngestResponse answers the webhook. Cursor is null for events of a basic host.
type IngestResponse struct {
	Success    bool    `json:"success"`
	Accepted   int     `json:"accepted"`
	Duplicates int     `json:"duplicates"`
	Cursor     *Cursor `json:"cursor"`
}

// WebhookBatch is the batched body of the webhook: all or nothing.
type WebhookBatch struct {
	SessionID string            `json:"sessionId"`
	Events    []json.RawMessage `json:"events"`
}

// RenewResponse answers the renewal of a webhook token (protocol 1.5).
type RenewResponse struct {
	WebhookURL string    `json:"webhookUrl"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// SuccessResponse is the whole answer of a call with nothing else to say.
type SuccessResponse struct {
	Success bool `json:"success"`
}
