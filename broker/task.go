package broker

import (
	"encoding/json"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Task is what a user opens; it has exactly one session, of the same id.
type Task struct {
	ID             string
	UserID         string
	Title          string
	Mode           protocol.TaskMode
	Agent          string
	Project        string
	HostID         string // a registered host, or "" when AgentURL is the task's own
	AgentURL       string
	AgentPassword  seal.Secret // set by the maker of a task; reads leave it sealed
	Guarded        bool        // AgentURL was given by a non-admin
	WebhookSecret  seal.Secret // 32 random bytes as hex, made with the task; reads leave it sealed
	AgentStatus    protocol.Status
	Reason         string
	OpenTurn       string // the newest turn with an event and no finish, "" when none
	LastTurn       *protocol.LastTurn
	Cursor         protocol.Cursor // of the events stored without a hole
	HostEvents     bool            // the host named the capability "events" or sent a cursor
	Rev            int64
	ReadRev        int64
	LastSeq        int64 // display position of the newest message
	OpenQuestions  int   // open interactions
	Archived       bool
	CreatedAt      time.Time
	LastActivityAt time.Time
	LastEventAt    *time.Time // when the host was last heard
	ChangedAt      time.Time  // of Rev
	DeletedAt      *time.Time // tombstone: the secret is kept 48 h
}

// TurnState is where a turn stands.
type TurnState string

// Turn states. announced: checked in, no event yet. open: an event came.
// closed: finish came (or the broker closed it). Closed is final.
const (
	TurnAnnounced TurnState = "announced"
	TurnOpen      TurnState = "open"
	TurnClosed    TurnState = "closed"
)

// Turn is one user message and the agent's work on it.
type Turn struct {
	ID           string
	TaskID       string
	MessageID    string // the user's message; "" for turns of hosts that start them by themselves
	State        TurnState
	FinishReason protocol.FinishReason
	Reason       string
	Usage        json.RawMessage
	AnnouncedAt  time.Time
	FinishedAt   *time.Time
}

// ChangeKind is what a change of a task touched.
type ChangeKind string

// Change kinds, which are also the feed's frame names.
const (
	ChangeMessage     ChangeKind = "message"
	ChangeTask        ChangeKind = "task"
	ChangeInteraction ChangeKind = "interaction"
)

// Change is one step of a task's rev; exactly one of the three rows is set,
// in its present state (a later change of the same row shows there already).
type Change struct {
	Rev         int64
	Kind        ChangeKind
	Message     *protocol.Message
	Task        *protocol.Task
	Interaction *protocol.Interaction
}
