package agenthost

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/agenthost/stream"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Workspaces gives sessions their directories.
type Workspaces interface {
	// Dir returns the working directory and the state directory (HOME, 0700) of
	// a session; both exist then. CodeInvalid: no usable id, unknown project.
	Dir(ctx context.Context, sessionID, project string) (dir, stateDir string, err error)
}

// WorkspaceRemover is a Workspaces that can clear up after a deleted session.
// kept means that the directory holds unfinished work and stays.
type WorkspaceRemover interface {
	Remove(ctx context.Context, sessionID, project string) (kept bool, err error)
}

// WorkspaceFetcher is a Workspaces whose sessions commit outside their project.
// Fetch copies the commits into the project's repository.
type WorkspaceFetcher interface {
	Fetch(ctx context.Context, sessionID, project string) error
}

// DiskCounter is a Workspaces that knows how many bytes it takes, soon or from
// memory.
type DiskCounter interface {
	DiskUse(ctx context.Context) (int64, error)
}

// Poster sends the requests of delivery; an *http.Client is one. It must not follow
// redirects: they would send the webhook token elsewhere.
type Poster = delivery.Poster

// Options are what a Host is made of. Journal, Providers with the DefaultAgent
// among them, and Workspaces are required.
type Options struct {
	Journal      Journal
	Providers    map[string]Provider // by agent id
	DefaultAgent string
	Workspaces   Workspaces
	Poster       Poster      // nil: a client that refuses redirects
	Password     seal.Secret // the bearer of webhook renewals
	PublicURL    string      // what browsers use; becomes streamUrl when set

	// LocalURL is the base of the loopback listener for agents, http://127.0.0.1:PORT;
	// "" when there is none.
	LocalURL string

	// Policy decides about confirms before a user is asked; nil asks every time.
	Policy Policy

	// Secrets returns the values that are masked in all output of the session's
	// agent (reliability PROC-6). Nil masks nothing.
	Secrets func(sessionID string) []string
	// Env returns further variables of the session's agent.
	Env func(sessionID string) []string

	// Record gets every input of every session in order, as JSON that a core.Recorded
	// reads, with known secrets masked. It is called with the session's lock held and
	// must return soon. Nil records nothing.
	Record func(sessionID string, entry json.RawMessage)

	TokenTTL           time.Duration // of stream tokens; 0: 10 min
	InteractionTimeout time.Duration // 0: 30 min
	IdleStop           time.Duration // an idle agent program is stopped after; 0: 10 min
	ActivityTimeout    time.Duration // a silent program in a terminal is taken to be idle after; 0: 10 min
	DrainTimeout       time.Duration // how long Run pushes outboxes at its end; 0: 2 s

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: discarded
}

// Grant is what a stream token allows.
type Grant struct {
	SessionID string
	TurnID    string // the announced turn it may start; "" on basic sessions
	Attach    bool   // reads, answers and interrupts; starts nothing
}

// Stream is a reader's share of a session's stream. Its reader must Close it.
type Stream = stream.Reader

// WorkspaceManager is what programs in a workspace may have done with it, and with
// others of their project. Paths are absolute and clean. CodeNotFound: no
// workspace is there; CodeInvalid: a name that cannot be used, an unknown project.
type WorkspaceManager interface {
	Info(ctx context.Context, path string) (WorkspaceInfo, error)
	// Create makes a workspace of a project, or a plain directory for "".
	// CodeConflict: the name is taken.
	Create(ctx context.Context, project, name string) (WorkspaceInfo, error)
	// Delete refuses a project's own directory, and without force uncommitted or
	// unpushed work: CodeConflict.
	Delete(ctx context.Context, path string, force bool) error

	// Metadata is durable. SetMetadata with nil deletes the key.
	Metadata(ctx context.Context, path string) (map[string]string, error)
	SetMetadata(ctx context.Context, path, key string, value *string) error

	// Command is a command line that the operator has named for the project.
	Command(path, name string) ([]string, bool)
}

// WorkspaceInfo describes a workspace.
type WorkspaceInfo struct {
	Path    string
	Project string // "" for a plain directory
	Branch  string // "" without git
	Dirty   bool   // has uncommitted changes
}

// Journal is a host's durable memory; agenthost/journal implements it. Errors
// of a full disk have CodeStorageFull.
type Journal interface {
	// Write makes all of w durable, or nothing of it. It returns when it is on
	// disk. Concurrent writes share a commit; one that fails fails alone. It is
	// not cancelled once begun.
	Write(ctx context.Context, w *Write) error

	// Load returns every session, for the start of a host.
	Load(ctx context.Context) ([]Loaded, error)

	// Turn and Interaction answer CodeNotFound when there is none.
	Turn(ctx context.Context, sessionID, turnID string) (*TurnRecord, error)
	Interaction(ctx context.Context, sessionID, interactionID string) (*InteractionRecord, error)
	// TurnsFrom returns the started turns of a session, ascending, beginning with
	// the one that held offset, or with the newest for -1. Empty when no turn
	// began at or before offset.
	TurnsFrom(ctx context.Context, sessionID string, offset int64) ([]TurnRecord, error)
	// TurnEvents returns a turn's events that have a part, ascending by offset.
	TurnEvents(ctx context.Context, sessionID, turnID string) ([]EventRecord, error)

	// Events returns events of one epoch with a seq above after.
	Events(ctx context.Context, sessionID string, epoch, after int64, limit int) ([]EventRecord, error)
	// Pending returns events after the cursor, over all epochs, ascending.
	Pending(ctx context.Context, sessionID string, after protocol.Cursor, limit int) ([]EventRecord, error)
	// Newest returns events before the cursor, descending, over all epochs.
	Newest(ctx context.Context, sessionID string, before protocol.Cursor, limit int) ([]EventRecord, error)
	// Prompt returns what a turn was asked, "" when that was not kept.
	Prompt(ctx context.Context, sessionID, turnID string) (string, error)
	CountPending(ctx context.Context, sessionID string, after protocol.Cursor) (int64, error)

	// Token answers CodeUnauthorized for an unknown hash.
	Token(ctx context.Context, hash []byte) (*TokenRecord, error)
	DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error)
	// Notices name the journals that were found damaged and set aside.
	Notices() []string
}

// The records of the journal are those of the core.
type (
	// Write holds the rows of one durable step.
	Write = core.Write
	// SessionRecord is the row of a session.
	SessionRecord = core.SessionRecord
	// TurnRecord is the row of a turn.
	TurnRecord = core.TurnRecord
	// TurnState says whether a turn is announced, open or finished.
	TurnState = core.TurnState
	// PromptRecord is the row of a turn's prompt.
	PromptRecord = core.PromptRecord
	// EventRecord is the row of an event.
	EventRecord = core.EventRecord
	// InteractionRecord is the row of a question.
	InteractionRecord = core.InteractionRecord
	// TokenRecord is the row of a stream token.
	TokenRecord = core.TokenRecord
	// Loaded is all that a start reads of a session.
	Loaded = core.Loaded
	// DeadLetter is an event that the broker refused for good.
	DeadLetter = core.DeadLetter
	// OutboxState is the state of a session's delivery.
	OutboxState = core.OutboxState
)

// Turn states.
const (
	TurnAnnounced = core.TurnAnnounced
	TurnOpen      = core.TurnOpen
	TurnFinished  = core.TurnFinished
)

// Outbox states.
const (
	OutboxOK       = core.OutboxOK
	OutboxRetrying = core.OutboxRetrying
	OutboxStopped  = core.OutboxStopped
	OutboxUnknown  = core.OutboxUnknown
	OutboxNone     = core.OutboxNone
)
