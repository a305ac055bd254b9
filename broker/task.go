package broker

import (
	"encoding/json"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Task is a user's task. It has exactly one session, with the same id.
type Task struct {
	ID             string
	No             int64 // stands for the ID in large tables; the store assigns it
	UserID         string
	Title          string
	Mode           protocol.TaskMode
	Agent          string
	Project        string
	Model          string                  // of the agent; "" leaves it to the host
	PermissionMode protocol.PermissionMode // of check-ins that name none; "" leaves it to the host
	Workspace      string                  // created by name, in which the session works; "" = one of its own
	Branch         string                  // of the project, that the session starts from; "" = the project's default
	HostID         string                  // a registered host, or "" when the task has its own AgentURL
	AgentURL       string
	AgentPassword  seal.Secret // set when the task is created; reads leave it sealed
	Guarded        bool        // a non-administrator gave AgentURL: it is dialled through the outbound guard
	WebhookSecret  seal.Secret // 32 random bytes as hex, created with the task; reads leave it sealed
	AgentStatus    protocol.Status
	Reason         string
	OpenTurn       string // the newest turn with an event and no finish, "" when none
	LastTurn       *protocol.LastTurn
	Cursor         protocol.Cursor // of the last event stored without a gap
	HostEvents     bool            // the host serves its events: it listed the capability or sent a cursor
	HostSigns      bool            // the host signs its posts: it listed the capability

	HostNames       bool // the host names the request in each of its answers: it listed the capability
	HostCredentials bool // the host stores the credential of a stream token: it listed the capability
	Rev             int64
	ReadRev         int64
	LastSeq         int64 // display position of the newest message
	OpenQuestions   int   // open interactions
	Archived        bool
	CreatedAt       time.Time
	LastActivityAt  time.Time
	LastEventAt     *time.Time // when the host's last event arrived
	ChangedAt       time.Time  // when Rev changed
	DeletedAt       *time.Time // row and secret are kept for another 48 h
	Queue           TaskQueue
}

// TurnState is the state of a turn.
type TurnState string

// Turn states. announced: checked in, without an event. open: an event arrived.
// closed: its finish arrived, or the broker closed it. Closed is final.
const (
	TurnAnnounced TurnState = "announced"
	TurnOpen      TurnState = "open"
	TurnClosed    TurnState = "closed"
)

// Turn is one user message and the agent's work on it.
type Turn struct {
	ID           string
	TaskID       string
	MessageID    string // the user's message; "" for a turn that the host started
	State        TurnState
	FinishReason protocol.FinishReason
	Reason       string
	Usage        json.RawMessage
	AnnouncedAt  time.Time
	FinishedAt   *time.Time
}

// ChangeKind is the kind of row that a change touched.
type ChangeKind string

// Change kinds. They are also the frame names of the feed.
const (
	ChangeMessage     ChangeKind = "message"
	ChangeTask        ChangeKind = "task"
	ChangeInteraction ChangeKind = "interaction"
)

// Change is one step of a task's rev. At most one of the three rows is set, in its
// current state, which includes later changes of the same row. None is set if the
// row was deleted.
type Change struct {
	Rev         int64
	Kind        ChangeKind
	Message     *protocol.Message
	Task        *protocol.Task
	Interaction *protocol.Interaction
}
