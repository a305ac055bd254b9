package agenthost

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"bellhop/agenthost/delivery"
	"bellhop/agenthost/stream"
	"bellhop/crypto/seal"
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

	// Secrets returns what is masked in all output of the session's agent
	// (reliability PROC-6). Nil masks nothing.
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
