package broker

import (
	"context"
	"errors"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Host is an agent host registered by an administrator. Passwords are plain text
// here; the store seals them.
type Host struct {
	ID               string
	Name             string
	URL              string
	Password         seal.Secret
	PreviousPassword seal.Secret // also tried until PreviousUntil (24 h after a change)
	PreviousUntil    *time.Time
	Health           HostHealth
	Reach            protocol.Reach // how browsers reach the host
	Names            bool           // the host named a request in an answer: nothing else is its answer
	CheckedAt        *time.Time
	OpenTurns        int // filled by lists: unfinished turns of tasks that are not deleted
	OwedEnds         int // filled by lists: sessions of deleted tasks whose end the host has not confirmed
	CreatedAt        time.Time
}

// HostHealth is the result of the last probe of a host's /readyz.
type HostHealth = protocol.HostHealth

// Host health values.
const (
	HostUnknown     = protocol.HostUnknown
	HostOK          = protocol.HostOK
	HostLowSpace    = protocol.HostLowSpace
	HostFull        = protocol.HostFull
	HostUnreachable = protocol.HostUnreachable
)

// Target is the address of a task's agent host.
type Target struct {
	URL       string        // without a trailing slash
	Passwords []seal.Secret // tried in order; empty for password-less custom hosts
	Guarded   bool          // a non-administrator gave the URL: dial through the outbound guard
	Relay     bool          // browsers cannot reach it
	Events    bool          // the host serves its events, and names the session in what it confirms
	Names     bool          // the host names the request in each answer: nothing else is its answer
}

// EventsAfter is where a pull begins.
type EventsAfter struct {
	Cursor  protocol.Cursor
	EventID string // of the broker's event at Cursor; "" if there is none
}

// ErrDoubtful is in the chain of an error that a Link returns for a response
// which the host may not have written. The call may or may not have arrived.
var ErrDoubtful = errors.New("the response is not the agent host's")

// Link calls agent hosts; broker/hosts implements it. Errors are *protocol.Error: CodeBadGateway with the
// check-in table's message ("Failed to create agent session", "No stream token returned from agent", "Failed to
// connect to agent server") for Open; for the other calls the host's own code (not_found, gone, answered,
// expired …) when its response has the error shape, CodeBadGateway when it could not be reached. Every call
// ends within 10 s, Diff and Restart within 40 s.
type Link interface {
	Open(ctx context.Context, t Target, req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error)
	// Events returns at most limit events after a position. CodeDiverged: the host has
	// other events up to there, which it has to post first.
	Events(ctx context.Context, t Target, sessionID string, after EventsAfter, limit int) (*protocol.EventsResponse, error)
	// OpenTurn returns the id of the session's open turn, "" for none; nil from a host that does not tell.
	// CodeNotFound: no such session.
	OpenTurn(ctx context.Context, t Target, sessionID string) (*string, error)
	// Interrupt stops the turn, or with "" the session's open turn. A turn that is only announced ends when its
	// prompt comes. Basic hosts get no turnID, and may ignore a turn whose prompt they do not have.
	Interrupt(ctx context.Context, t Target, sessionID, turnID string) error
	// Restart ends the session's agent program. CodeNotFound: no such session;
	// CodeMethodNotAllowed: the host knows no restarts.
	Restart(ctx context.Context, t Target, sessionID string) (*protocol.RestartResponse, error)
	// Diff is CodeNotFound when the host has no such session.
	Diff(ctx context.Context, t Target, sessionID string) (*protocol.Diff, error)
	// Workspace is CodeNotFound when the host has no such session, or the session no workspace
	// yet; CodeMethodNotAllowed: the host does not describe workspaces.
	Workspace(ctx context.Context, t Target, sessionID string) (*protocol.SessionWorkspace, error)
	Answer(ctx context.Context, t Target, sessionID, interactionID string, req *protocol.AnswerRequest) error
	// OnlyCopies returns what exists only in the session's workspaces. CodeNotFound: no such session;
	// CodeMethodNotAllowed: the host does not tell.
	OnlyCopies(ctx context.Context, t Target, sessionID string) (*protocol.OnlyCopies, error)
	// Delete ends the session. It returns what exists only in the workspaces that the host kept, nil if it kept none or
	// does not tell. Those whose OnlyCopies have the id confirmed are deleted, too.
	Delete(ctx context.Context, t Target, sessionID, confirmed string) (*protocol.OnlyCopies, error)
	// Revoke ends the session's stream tokens and streams. CodeNotFound: no such session;
	// CodeMethodNotAllowed: the host is basic.
	Revoke(ctx context.Context, t Target, sessionID string) error
	// RevokeCredentials ends the stream tokens and streams of sign-ins and API tokens. CodeNotFound:
	// the host does not know credentials.
	RevokeCredentials(ctx context.Context, t Target, req *protocol.RevokeRequest) error
	// Ready asks whether turns can start: HostOK, HostLowSpace or HostFull. An error
	// means that the host did not answer or is not ready for another reason. names says that the answer repeats the
	// request's name.
	Ready(ctx context.Context, t Target) (health HostHealth, names bool, err error)
}
