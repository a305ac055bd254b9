package notebook

import (
	"context"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Store keeps everything; notebook/store has it. Every method joins the
// transaction in its context. Another user's row is CodeNotFound.
type Store interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	Read(ctx context.Context, fn func(ctx context.Context) error) error

	SessionStore
	SourceStore
	MessageStore
}

// SessionStore has agent sessions and their notebooks.
type SessionStore interface {
	// InsertSession does nothing if the user has that agent identifier already.
	InsertSession(ctx context.Context, s *Session) error
	// LockSession and LockIdentifier lock the row until the transaction ends.
	LockSession(ctx context.Context, userID, id string) (*Session, error)
	LockIdentifier(ctx context.Context, userID, identifier string) (*Session, error)
	Session(ctx context.Context, userID, id string) (*Session, error)
	// Sessions come newest first; identifier "" = all.
	Sessions(ctx context.Context, userID, identifier string) ([]Session, error)
	SaveSession(ctx context.Context, s *Session) error
	// ChangedSessions are those of the users that changed at since or later.
	ChangedSessions(ctx context.Context, userIDs []string, since time.Time) ([]Session, error)

	// InsertNotebook does nothing if the session has one already.
	InsertNotebook(ctx context.Context, n *Notebook) (inserted bool, err error)
	Notebook(ctx context.Context, userID, id string) (*Notebook, error)
	NotebookOf(ctx context.Context, userID, sessionID string) (*Notebook, error)
	Notebooks(ctx context.Context, userID string) ([]Notebook, error)
	// DeleteNotebook takes everything in it along.
	DeleteNotebook(ctx context.Context, userID, id string) error
}

// SourceStore has sources and their versions.
type SourceStore interface {
	CountSources(ctx context.Context, notebookID string) (int, error)
	InsertSource(ctx context.Context, s *Source) error
	Source(ctx context.Context, userID, id string) (*Source, error)
	// Sources come newest first.
	Sources(ctx context.Context, userID string, in SourceFilter) ([]Source, error)
	SaveSource(ctx context.Context, s *Source) error
	DeleteSource(ctx context.Context, userID, id string) error

	InsertVersion(ctx context.Context, v *Version) error
	Version(ctx context.Context, sourceID string, number int64) (*Version, error)
	// Versions come oldest first; of the oldest, code and diff beyond budget bytes
	// in all are left out.
	Versions(ctx context.Context, sourceID string, budget int64) ([]Version, error)
	// Newest has the newest version of each of the sources, in their order. Code
	// beyond budget bytes in all is left out.
	Newest(ctx context.Context, sources []Source, budget int64) ([]Version, error)
	// Unverified come oldest first, with their sources.
	Unverified(ctx context.Context, limit int) ([]Unverified, error)
	SetVerification(ctx context.Context, sourceID string, number int64, v *protocol.Verification) error
}

// SourceFilter of Sources; "" = any.
type SourceFilter struct {
	NotebookID string
	SessionID  string
}

// Unverified is a version that nobody judged yet.
type Unverified struct {
	Source  Source
	Version Version
}

// MessageStore has the conversations.
type MessageStore interface {
	InsertMessage(ctx context.Context, m *Message) error
	SaveMessage(ctx context.Context, m *Message) error
	// Message finds a message of the user's sources.
	Message(ctx context.Context, userID, id string) (*Message, error)
	// Messages are the newest before seq (0 = the end), in their order: at most
	// limit, and, but for the newest, at most budget characters.
	Messages(ctx context.Context, sourceID string, before int64, limit int, budget int64) ([]Message, error)
	// OpenFollowups are a session's messages that wait for an answer, oldest first.
	OpenFollowups(ctx context.Context, sessionID string, limit int) ([]Followup, error)
	// MarkDelivered and MarkRead set what is not set yet; MarkRead is about the
	// agent's messages of a source and reports how many.
	MarkDelivered(ctx context.Context, ids []string, now time.Time) error
	MarkRead(ctx context.Context, sourceID string, now time.Time) (int64, error)
}

// Verifier judges code without running it. It is safe for concurrent use, never
// fails and bounds its own time and memory; notebook/verify has it.
type Verifier interface {
	// Verify detects the language if it is "".
	Verify(ctx context.Context, language, code string) protocol.Verification
}

// Outbox sends follow-ups to agents' webhooks; internal/app fills it with
// webhook/outbound. Every method joins the caller's transaction.
type Outbox interface {
	// SetEndpoint makes an endpoint, or gives it another URL and secret. A zero
	// secret is made. The one returned may be shown this once.
	SetEndpoint(ctx context.Context, e Endpoint) (seal.Secret, error)
	Enqueue(ctx context.Context, f Outgoing) error
	Disable(ctx context.Context, userID, endpointID, reason string) error
	Enable(ctx context.Context, userID, endpointID string) error
	// Answered tells the user's own webhooks that an agent answered.
	Answered(ctx context.Context, a Answer) error
}

// Answer is an agent's answer, as the user's own webhooks hear of it.
type Answer struct {
	UserID         string    `json:"-"`
	At             time.Time `json:"-"`
	SourceID       string    `json:"sourceId"`
	AgentSessionID string    `json:"agentSessionId"`
	InReplyTo      string    `json:"inReplyTo"`
	MessageID      string    `json:"messageId"`
	Version        int64     `json:"version,omitempty"` // that it brought
}

// Endpoint is an agent's webhook.
type Endpoint struct {
	ID     string
	UserID string
	URL    string
	Secret seal.Secret
}

// Outgoing is a message for an endpoint; its body is asked for (Render) when it
// is first sent. Messages of one source keep their order.
type Outgoing struct {
	EndpointID string
	MessageID  string
	SourceID   string
}

// Notifier hears, after the commit, that something changed which the user's
// feed shows. It never waits.
type Notifier interface {
	AgentChanged(userID string)
}
