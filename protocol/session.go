package protocol

import (
	"encoding/json"
	"time"
)

// OpenSessionRequest is the body of POST /session on the agent host. A basic broker
// sends only SessionID and WebhookURL.
type OpenSessionRequest struct {
	SessionID  string         `json:"sessionId"`
	WebhookURL string         `json:"webhookUrl"`
	BrokerID   string         `json:"brokerId,omitempty"`
	Cursor     *Cursor        `json:"cursor,omitempty"`
	Agent      string         `json:"agent,omitempty"`
	Project    string         `json:"project,omitempty"`
	Model      string         `json:"model,omitempty"`
	Turn       *AnnouncedTurn `json:"turn,omitempty"`
	Attach     bool           `json:"attach,omitempty"` // the token may read, answer and interrupt, but not prompt

	// BindKey binds the key in HeaderSessionKey to the session, unless it has one.
	BindKey bool `json:"bindKey,omitempty"`

	PermissionMode PermissionMode `json:"permissionMode,omitempty"` // "" keeps the session's

	Incarnation string `json:"incarnation,omitempty"` // one unbroken life of the broker's database
	Title       string `json:"title,omitempty"`       // of the task, for its adoption
	Owner       string `json:"owner,omitempty"`       // the id of the task's user, for its adoption

	// Credential is the id of the sign-in or API token that the stream token is for. Hosts
	// that do not list CapabilityCredentials ignore it.
	Credential string `json:"credential,omitempty"`

	// Workspace is the name of a workspace of the session's user, in which the session works instead
	// of one of its own. Hosts that do not list CapabilityWorkspaces ignore it.
	Workspace string `json:"workspace,omitempty"`

	// NamedAnswers: this broker has HeaderBroker and HeaderRequest in each of its answers to the host.
	NamedAnswers bool `json:"namedAnswers,omitempty"`

	// Branch is the branch of the project that a new session starts from; "" = the project's default.
	// Hosts that do not list CapabilityBranches ignore it.
	Branch string `json:"branch,omitempty"`
}

// AnnouncedTurn is a turn that the token of the response may start once.
// PromptSHA256 is the hex SHA-256 of the message's UTF-8 bytes; with "" the token
// accepts any prompt.
type AnnouncedTurn struct {
	ID           string `json:"id"`
	PromptSHA256 string `json:"promptSha256,omitempty"`
	MessageID    string `json:"messageId,omitempty"` // of the message that the turn works on

	// Rev is the task's revision at the check-in. The host refuses a turn that it does not know with a lower one than
	// the last that it took of the same incarnation: a copy of a request that was given up may come late.
	Rev int64 `json:"rev,omitempty"`
}

// OpenSessionResponse is the response to POST /session. A basic host sends only
// Token.
type OpenSessionResponse struct {
	SessionID    string       `json:"sessionId,omitempty"` // that of the request; a host with capabilities names it
	Token        string       `json:"token"`
	ExpiresAt    *time.Time   `json:"expiresAt,omitempty"`
	StreamURL    string       `json:"streamUrl,omitempty"`
	Cursor       *Cursor      `json:"cursor,omitempty"`
	StreamCursor *string      `json:"streamCursor"` // stream id just before the open turn; null when idle
	Status       Status       `json:"status,omitempty"`
	Reason       StatusReason `json:"reason,omitempty"`
	OpenTurn     string       `json:"openTurn,omitempty"`    // the running turn, or ""
	QueuedTurns  []string     `json:"queuedTurns,omitempty"` // prompted turns behind the open one
	// Attached: a terminal client is open, so prompts without force get CodeAttached.
	Attached     bool     `json:"attached,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`

	PermissionMode PermissionMode `json:"permissionMode,omitempty"` // the session's; "" is ModeAsk
}

// Capabilities that a host may list in OpenSessionResponse.
const (
	CapabilityEvents       = "events"
	CapabilityResume       = "resume"
	CapabilityInteractions = "interactions"
	CapabilityDiff         = "diff"
	CapabilitySessionKeys  = "session-keys" // BindKey binds a key

	// CapabilitySignatures: the host signs what it posts to the webhook of a named broker, and knows
	// WebhookInHeader. The broker refuses posts of that session without a signature.
	CapabilitySignatures = "webhook-signatures"

	// CapabilityCredentials: the host stores Credential with the stream token, and knows POST /revoke.
	CapabilityCredentials = "credentials"

	// CapabilityWorkspaces: the host knows Workspace, HeaderOwnerKey, GET /workspaces and GET /session/:id/workspace.
	CapabilityWorkspaces = "workspaces"

	// CapabilityBranches: the host knows Branch.
	CapabilityBranches = "branches"

	// CapabilityShip: the host knows POST /session/:id/commit, and lists in GET /session/:id/workspace what it does
	// with the work of the session.
	CapabilityShip = "ship"

	// CapabilityNamedAnswers: the host repeats HeaderRequest in each of its answers.
	CapabilityNamedAnswers = "named-answers"
)

// Limits of credentials.
const (
	MaxCredential  = 64  // bytes of one credential's id
	MaxCredentials = 100 // credentials in one RevokeRequest
)

// RevokeRequest asks an agent host to end the stream tokens and the streams that it issued to
// credentials, in all sessions of the broker.
type RevokeRequest struct {
	BrokerID    string   `json:"brokerId"`
	Credentials []string `json:"credentials"`
}

// RevokeResponse repeats the broker's id, which proves that a host wrote it.
type RevokeResponse struct {
	Success  bool   `json:"success"`
	BrokerID string `json:"brokerId"`
}

// WebhookInHeader is the fragment of a webhook URL whose token belongs into a header instead of the
// query: Authorization, or HeaderWebhookToken for a renewal. No client sends a fragment, so a host
// that does not know it posts to the same URL as ever.
const WebhookInHeader = "token-in-header"

// HeaderWebhookToken has the webhook token of a renewal, whose Authorization has the agent
// password. A host that does not know the header sends the token in the query.
const HeaderWebhookToken = "Bellhop-Webhook-Token"

// HeaderSessionKey is the header of the key that a named broker binds to a session. Every
// later request about that session needs it, beside the agent password.
const HeaderSessionKey = "Bellhop-Session-Key"

// HeaderOwnerKey is the header of the key that a named broker proves a user with. It opens the
// workspaces that sessions of this user created.
const HeaderOwnerKey = "Bellhop-Owner-Key"

// Headers of an act: a request that has its effect once, however often and however late it arrives.
const (
	// HeaderAct names the act, 1 to 64 of [A-Za-z0-9_-], also in quotes (draft-ietf-httpapi-idempotency-key-header-07).
	HeaderAct = "Idempotency-Key"
	// HeaderFirstSeen is when the broker first saw the act, in RFC 3339. No browser's clock decides.
	HeaderFirstSeen = "Bellhop-First-Seen"
)

// ActKept is how long broker and host remember an act. A host refuses one that it does not know and that the broker saw
// earlier.
const ActKept = 7 * 24 * time.Hour

// HeaderRequest names a request. Its answer repeats it, so that no answer to another request is taken for it.
const HeaderRequest = "Bellhop-Request"

// HeaderBroker names the broker that answers, by the brokerId of its check-ins. An answer without it is of something
// in between, such as a gateway.
const HeaderBroker = "Bellhop-Broker"

// PromptRequest is the body of POST /stream/:sessionId on the agent host.
type PromptRequest struct {
	Prompt      string       `json:"prompt"`
	Attachments []Attachment `json:"attachments,omitempty"`
	WhenBusy    WhenBusy     `json:"whenBusy,omitempty"`
	Force       bool         `json:"force,omitempty"` // also while a terminal client is attached, which is closed first
}

// WhenBusy decides about a prompt while another turn is open. The stream of a
// queued prompt begins with a data-queued part.
type WhenBusy = string

// Values of WhenBusy. "" is WhenBusyReject.
const (
	WhenBusyReject    WhenBusy = "reject"    // answers 409 busy
	WhenBusyQueue     WhenBusy = "queue"     // starts it after the open turn and all queued ones
	WhenBusyInterrupt WhenBusy = "interrupt" // ends the open turn and starts it next
)

// Attachment is an image or a document; Data is base64 (RFC 4648 section 4).
type Attachment struct {
	Type      AttachmentType `json:"type"`
	MediaType string         `json:"mediaType,omitempty"`
	Name      string         `json:"name,omitempty"` // of the file, for the agent
	Data      string         `json:"data"`
}

// AttachmentType is the kind of an attachment.
type AttachmentType = string

// Types of attachments: an image, or a document (text or PDF).
const (
	AttachmentImage    AttachmentType = "image"
	AttachmentDocument AttachmentType = "document"
)

// AttachmentKind is what an agent can take beside a text.
type AttachmentKind = string

// Kinds of attachments that agents take.
const (
	KindImage AttachmentKind = "image"
	KindText  AttachmentKind = "text"
	KindPDF   AttachmentKind = "pdf"
)

// AnswerRequest answers an interaction, on the broker and on the host.
type AnswerRequest struct {
	Approved *bool  `json:"approved,omitempty"`
	Text     string `json:"text,omitempty"`
	Remember string `json:"remember,omitempty"` // "" or RememberSession
	Reason   string `json:"reason,omitempty"`

	// By is who answers, for a remembered answer. The broker sets it; a value from
	// another sender is replaced.
	By string `json:"by,omitempty"`
}

// RememberSession allows calls of the same shape for the rest of the session.
const RememberSession = "session"

// Confirmation is a host's response to a call that changes a session. SessionID
// proves that a host wrote it: a gateway's {"success":true} does not name the session.
// Basic hosts name none.
type Confirmation struct {
	Success      bool   `json:"success"`
	SessionID    string `json:"sessionId,omitempty"`
	WorktreeKept *bool  `json:"worktreeKept,omitempty"` // of DELETE

	// Kept is what exists only in the workspaces that DELETE kept.
	Kept *OnlyCopies `json:"kept,omitempty"`
}

// SessionOnlyCopies is the response to GET /session/:id/only-copies on the agent host: what ending the session would
// lose. DELETE with its id loses it.
type SessionOnlyCopies struct {
	SessionID  string     `json:"sessionId"`
	OnlyCopies OnlyCopies `json:"onlyCopies"`
}

// EventsResponse is the response to GET /session/:id/events on the agent host.
// Pass Epoch and NextAfter as "epoch" and "after" of the next request. Fewer events
// than the limit mean that Epoch has no more; then Epoch is CurrentEpoch, or the
// next request begins with a later epoch.
type EventsResponse struct {
	SessionID string            `json:"sessionId,omitempty"` // see Confirmation
	Epoch     int64             `json:"epoch"`
	Events    []json.RawMessage `json:"events"`
	NextAfter int64             `json:"nextAfter"`
	Status    Status            `json:"status"`
	OpenTurn  string            `json:"openTurn,omitempty"`

	CurrentEpoch int64 `json:"currentEpoch,omitempty"` // of the session's newest event

	QueuedTurns []string `json:"queuedTurns,omitempty"`
	// AnnouncedTurn is one whose prompt has not come, and still may.
	AnnouncedTurn string `json:"announcedTurn,omitempty"`
	// Prompts are those of the turns that Events belong to, if the request asked for them.
	Prompts []TurnPrompt `json:"prompts,omitempty"`
}

// IngestResponse is the response of the webhook. Cursor is null for events of a
// basic host.
type IngestResponse struct {
	Success     bool    `json:"success"`
	Accepted    int     `json:"accepted"`
	Duplicates  int     `json:"duplicates"`
	Cursor      *Cursor `json:"cursor"`
	Incarnation string  `json:"incarnation,omitempty"` // refusals carry it too
}

// WebhookBatch is a webhook body with several events. The broker stores all of
// them or none. Prompts belong to turns of these events.
type WebhookBatch struct {
	SessionID string            `json:"sessionId"`
	Events    []json.RawMessage `json:"events"`
	Prompts   []TurnPrompt      `json:"prompts,omitempty"`
}

// RenewResponse is the response to the renewal of a webhook token (protocol 1.5).
// Cursor is the task's: a host that is ahead of it rewinds.
type RenewResponse struct {
	WebhookURL  string    `json:"webhookUrl"`
	ExpiresAt   time.Time `json:"expiresAt"`
	Cursor      *Cursor   `json:"cursor,omitempty"`
	Incarnation string    `json:"incarnation,omitempty"`
}

// SuccessResponse is the response of a call that returns no data.
type SuccessResponse struct {
	Success bool `json:"success"`
}

// TaskDeletion is the response to DELETE /api/tasks/:id on the broker.
type TaskDeletion struct {
	Success bool        `json:"success"`
	Kept    *OnlyCopies `json:"kept,omitempty"` // what exists only in the workspaces that the host kept
	// Pending says that the host has not confirmed yet that the session ended: its workspaces may still exist.
	Pending bool `json:"pending,omitempty"`
}
