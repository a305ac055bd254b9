package notebook

import (
	"context"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Store keeps sessions, sources and messages; package notebook/store implements it. Every
// method joins the transaction in its context. Another user's row is CodeNotFound.
type Store interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	Read(ctx context.Context, fn func(ctx context.Context) error) error

	SessionStore
	SourceStore
	MessageStore
}

// SessionStore has agent sessions and their notebooks.
type SessionStore interface {
	// InsertSession does nothing if the user already has that agent identifier.
	InsertSession(ctx context.Context, s *Session) error
	// LockSession and LockIdentifier lock the row until the transaction ends.
	LockSession(ctx context.Context, userID, id string) (*Session, error)
	LockIdentifier(ctx context.Context, userID, identifier string) (*Session, error)
	Session(ctx context.Context, userID, id string) (*Session, error)
	// Sessions returns them newest first; identifier "" = all.
	Sessions(ctx context.Context, userID, identifier string) ([]Session, error)
	SaveSession(ctx context.Context, s *Session) error
	// ChangedSessions returns the users' sessions that changed at since or later.
	ChangedSessions(ctx context.Context, userIDs []string, since time.Time) ([]Session, error)

	// InsertNotebook does nothing if the session already has one.
	InsertNotebook(ctx context.Context, n *Notebook) (inserted bool, err error)
	Notebook(ctx context.Context, userID, id string) (*Notebook, error)
	NotebookOf(ctx context.Context, userID, sessionID string) (*Notebook, error)
	Notebooks(ctx context.Context, userID string) ([]Notebook, error)
	// DeleteNotebook also deletes its sources.
	DeleteNotebook(ctx context.Context, userID, id string) error
}

// SourceStore has sources and their versions.
type SourceStore interface {
	CountSources(ctx context.Context, notebookID string) (int, error)
	InsertSource(ctx context.Context, s *Source) error
	Source(ctx context.Context, userID, id string) (*Source, error)
	// Sources returns them newest first.
	Sources(ctx context.Context, userID string, in SourceFilter) ([]Source, error)
	SaveSource(ctx context.Context, s *Source) error
	DeleteSource(ctx context.Context, userID, id string) error

	InsertVersion(ctx context.Context, v *Version) error
	Version(ctx context.Context, sourceID string, number int64) (*Version, error)
	// Versions returns them oldest first. Of the oldest, code and diff are omitted when the
	// total exceeds budget bytes.
	Versions(ctx context.Context, sourceID string, budget int64) ([]Version, error)
	// Newest returns the newest version of each source, in their order. Code is omitted when
	// the total exceeds budget bytes.
	Newest(ctx context.Context, sources []Source, budget int64) ([]Version, error)
	// Unverified returns versions without verification, oldest first, with their sources.
	Unverified(ctx context.Context, limit int) ([]Unverified, error)
	SetVerification(ctx context.Context, sourceID string, number int64, v *protocol.Verification) error
}

// SourceFilter selects sources; "" = any.
type SourceFilter struct {
	NotebookID string
	SessionID  string
}

// Unverified is a version that was not verified yet, with its source.
type Unverified struct {
	Source  Source
	Version Version
}

// MessageStore has the conversations.
type MessageStore interface {
	InsertMessage(ctx context.Context, m *Message) error
	SaveMessage(ctx context.Context, m *Message) error
	// Message returns a message of the user's sources.
	Message(ctx context.Context, userID, id string) (*Message, error)
	// Messages returns the newest messages before seq (0 = all), oldest first: at most limit,
	// and at most budget characters unless the newest alone is longer.
	Messages(ctx context.Context, sourceID string, before int64, limit int, budget int64) ([]Message, error)
	// OpenFollowups returns a session's unanswered messages, oldest first.
	OpenFollowups(ctx context.Context, sessionID string, limit int) ([]Followup, error)
	// Exchanges returns, by source and oldest first, the last answer before each open follow-up
	// and the closed messages between the two: at most limit in all, the newest. It reads
	// HistoryText+1 characters of each, and no attachments.
	Exchanges(ctx context.Context, sourceIDs []string, limit int) (map[string][]Message, error)
	// MarkDelivered and MarkRead set only times that are unset. MarkRead covers the agent's
	// messages of a source and its failures, up to a seq, and returns their number.
	MarkDelivered(ctx context.Context, ids []string, now time.Time) error
	MarkRead(ctx context.Context, sourceID string, through int64, now time.Time) (int64, error)
	// Unread returns the user's sources that have messages for MarkRead.
	Unread(ctx context.Context, userID string) ([]Unread, error)
	// Subjects omits messages that do not exist or are another user's.
	Subjects(ctx context.Context, userID string, messageIDs []string) ([]Subject, error)
}

// Unread is a source with the number of its unread messages.
type Unread struct {
	SourceID   string
	NotebookID string
	Messages   int
}

// Subject is what a message is about.
type Subject struct {
	MessageID string
	protocol.DeliverySubject
}

// Verifier checks code without running it. It is safe for concurrent use, never fails and
// bounds its own time and memory; notebook/verify implements it.
type Verifier interface {
	// Verify detects the language if it is "".
	Verify(ctx context.Context, language, code string) protocol.Verification
}

// Outbox sends follow-ups to agents' webhooks; internal/app implements it with
// webhook/outbound. Every method joins the caller's transaction.
type Outbox interface {
	// SetEndpoint creates an endpoint or changes its URL and secret. A zero secret is
	// generated. The secret returned must not be shown again later.
	SetEndpoint(ctx context.Context, e Endpoint) (seal.Secret, error)
	// ClearEndpoint deletes the deliveries of an endpoint. There may be millions, so it must not be called
	// in a transaction.
	ClearEndpoint(ctx context.Context, userID, endpointID string) error
	// RemoveEndpoint deletes an endpoint and its deliveries.
	RemoveEndpoint(ctx context.Context, userID, endpointID string) error
	Enqueue(ctx context.Context, f Outgoing) error
	Disable(ctx context.Context, userID, endpointID, reason string) error
	Enable(ctx context.Context, userID, endpointID string) error
	// Progress returns the state of those messages that are on their way to an endpoint.
	Progress(
		ctx context.Context, userID, endpointID string, messageIDs []string,
	) (map[string]protocol.FollowupProgress, error)
	// Answered and Failed send an agent's answer, or a failure, to the user's own webhooks.
	Answered(ctx context.Context, a Answer) error
	Failed(ctx context.Context, f Failure) error
}

// Failure is a message that did not reach the agent, or that the agent refused, as the user's
// own webhooks get it.
type Failure struct {
	UserID         string    `json:"-"`
	At             time.Time `json:"-"`
	SourceID       string    `json:"sourceId"`
	AgentSessionID string    `json:"agentSessionId"`
	MessageID      string    `json:"messageId"`
	Delivered      bool      `json:"delivered"` // the agent has the message and refused it
	Failure        string    `json:"failure"`
}

// Answer is an agent's answer as the user's own webhooks get it.
type Answer struct {
	UserID         string    `json:"-"`
	At             time.Time `json:"-"`
	SourceID       string    `json:"sourceId"`
	AgentSessionID string    `json:"agentSessionId"`
	InReplyTo      string    `json:"inReplyTo"`
	MessageID      string    `json:"messageId"`
	Version        int64     `json:"version,omitempty"` // the version that it brought
}

// Endpoint is an agent's webhook.
type Endpoint struct {
	ID     string
	UserID string
	URL    string
	Secret seal.Secret
}

// Outgoing is a message for an endpoint. Its body is rendered (Render) when it is first sent.
// Messages of one source keep their order.
type Outgoing struct {
	EndpointID string
	MessageID  string
	SourceID   string
}

// Notifier is called after the commit of a change that the user's feed shows. It must not
// block.
type Notifier interface {
	AgentChanged(userID string)
}
