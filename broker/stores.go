package broker

import (
	"context"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// Transactor opens transactions; stores join the one in the context. fn may run
// more than once (after a deadlock), so it starts from nothing each time.
type Transactor interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	Read(ctx context.Context, fn func(ctx context.Context) error) error
}

// UserStore keeps users.
type UserStore interface {
	// CreateUser is CodeConflict when the e-mail address is taken.
	CreateUser(ctx context.Context, u *User) error
	User(ctx context.Context, id string) (*User, error)
	UserByEmail(ctx context.Context, email string) (*User, error)
	UpdatePassword(ctx context.Context, id, hash string) error
}

// TokenStore keeps API tokens.
type TokenStore interface {
	CreateToken(ctx context.Context, t *APIToken) error
	Tokens(ctx context.Context, userID string) ([]APIToken, error)
	TokenByHash(ctx context.Context, hash []byte) (*APIToken, error)
	TouchToken(ctx context.Context, id string, at time.Time) error
	DeleteToken(ctx context.Context, userID, id string) error
}

// LinkStore keeps one-time sign-in links by their hash.
type LinkStore interface {
	CreateLink(ctx context.Context, hash []byte, userID string, expires time.Time) error
	// UseLink has one winner under a race; used, expired and unknown links are
	// CodeNotFound.
	UseLink(ctx context.Context, hash []byte, now time.Time) (userID string, err error)
}

// LoginStore keeps cookie sessions; the token is already a hash.
type LoginStore interface {
	FindLogin(ctx context.Context, token string) (data []byte, found bool, err error)
	CommitLogin(ctx context.Context, token string, data []byte, expiry time.Time) error
	DeleteLogin(ctx context.Context, token string) error
}

// HostStore keeps registered agent hosts. Hosts leaves the passwords sealed, so
// one damaged row does not break the list.
type HostStore interface {
	// CreateHost is CodeConflict when the name is taken.
	CreateHost(ctx context.Context, h *Host) error
	Host(ctx context.Context, id string) (*Host, error)
	Hosts(ctx context.Context) ([]Host, error)
	UpdateHost(ctx context.Context, id string, change func(*Host) error) (*Host, error)
	// DeleteHost is CodeConflict while tasks use the host.
	DeleteHost(ctx context.Context, id string) error
	SetHostHealth(ctx context.Context, id string, health HostHealth, at time.Time) error
}

// OriginStore keeps where browsers were sent to stream.
type OriginStore interface {
	// AddStreamOrigin is for a host's id, or the user's of a task with a URL of
	// its own; known ones are no error.
	AddStreamOrigin(ctx context.Context, owner, origin string) error
	// StreamOrigins are those of all registered hosts and of the user.
	StreamOrigins(ctx context.Context, userID string) ([]string, error)
}

// TaskStore keeps tasks. Reads leave the secrets sealed: TaskPasswords
// and WebhookSecret open them.
type TaskStore interface {
	CreateTask(ctx context.Context, t *Task) error
	// Task is CodeNotFound for another user's or a deleted task.
	Task(ctx context.Context, userID, id string) (*Task, error)
	// AnyTask is any user's task, deleted ones too.
	AnyTask(ctx context.Context, id string) (*Task, error)
	// LockTask locks the row in a write transaction. Deleted tasks are found too.
	LockTask(ctx context.Context, id string) (*Task, error)
	Tasks(ctx context.Context, userID string, f TaskFilter) ([]Task, error)
	// TaskPasswords are the task's own, the newest first; none is no error.
	TaskPasswords(ctx context.Context, id string, now time.Time) ([]seal.Secret, error)
	// SetTaskPassword keeps the former one until previousUntil.
	SetTaskPassword(ctx context.Context, id string, password seal.Secret, previousUntil time.Time) error
	WebhookSecret(ctx context.Context, id string) (seal.Secret, error)
	// DueTasks are tasks with a turn open and no event since silent, or with one
	// announced before announced; deleted ones are never due. hostEvents tells
	// tasks of hosts that can be asked for events from the others.
	DueTasks(ctx context.Context, hostEvents bool, silent, announced time.Time) ([]DueTask, error)
	// PurgeTasks removes tombstones and all their rows.
	PurgeTasks(ctx context.Context, deletedBefore time.Time) (int64, error)
}

// TaskFilter selects a page of a user's tasks, newest activity first.
type TaskFilter struct {
	Before   *TaskPosition
	Limit    int
	Q        string
	Archived *bool
}

// TaskPosition is a place in the list of tasks.
type TaskPosition struct {
	At time.Time
	ID string
}

// TurnStore keeps turns.
type TurnStore interface {
	Turns(ctx context.Context, taskID string, ids []string) ([]Turn, error)
	// TurnsIn are a task's turns in these states, oldest first.
	TurnsIn(ctx context.Context, taskID string, states ...TurnState) ([]Turn, error)
}

// MessageStore keeps messages.
type MessageStore interface {
	Message(ctx context.Context, taskID, id string) (*Message, error)
	Messages(ctx context.Context, taskID string, q MessageQuery) ([]Message, error)
	MessagesByID(ctx context.Context, taskID string, ids []string) ([]Message, error)
	// ToolMessages are the tool rows with these tool call ids, by seq.
	ToolMessages(ctx context.Context, taskID string, toolCallIDs []string) ([]Message, error)
	// LastWithHash is the newest message whose body hash begins so.
	LastWithHash(ctx context.Context, taskID, prefix string) (*Message, error)
	// StuckMessages are SENDING since before t.
	StuckMessages(ctx context.Context, before time.Time, limit int) ([]StuckMessage, error)
	// TurnMessage is the user's message of a turn.
	TurnMessage(ctx context.Context, taskID, turnID string) (*Message, error)
}

// StuckMessage is a message that waits for its host for too long.
type StuckMessage struct{ TaskID, MessageID string }

// EventStore keeps events.
type EventStore interface {
	// KnownEvents are the stored events with one of these ids.
	KnownEvents(ctx context.Context, taskID string, ids []string) ([]StoredEvent, error)
	// Audit notes a refused event (reliability IN-6).
	Audit(ctx context.Context, a *AuditEntry) error
}

// InteractionStore keeps interactions.
type InteractionStore interface {
	TaskInteractions(ctx context.Context, taskID string, ids []string) ([]Interaction, error)
	OpenInteractions(ctx context.Context, taskID string) ([]Interaction, error)
	Interactions(ctx context.Context, userID, state string, limit int) ([]Interaction, error)
	// Interaction is the newest of the user's with this id, open ones first.
	Interaction(ctx context.Context, userID, id string) (*Interaction, error)
}

// ChangeStore keeps what changed.
type ChangeStore interface {
	ChangeRefs(ctx context.Context, taskID string, since int64, limit int) ([]ChangeRef, error)
	Revs(ctx context.Context, taskIDs []string) (map[string]int64, error)
	Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error)
	HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]UserHint, error)
	// PruneChanges keeps the newest keep changes of each task.
	PruneChanges(ctx context.Context, keep int64) (int64, error)
}

// BatchStore writes the outcome of a use case in as few statements as it can.
type BatchStore interface {
	// Apply is ErrTaken when an event id or (epoch,seq) is already there.
	Apply(ctx context.Context, b *Batch) error
}

// AppendStore is for what hosts send most: events that go on where a task
// stands, and messages of them.
type AppendStore interface {
	// Appends is false where Append is no faster than LockTask and Apply.
	Appends() bool
	// Append is Apply without a lock taken before: it writes b's events,
	// messages and changes if the task is not deleted and still at rev and
	// cursor, and reports whether it did. Of the task it writes cursor, revs
	// and times only.
	Append(ctx context.Context, rev int64, cursor protocol.Cursor, b *Batch) (bool, error)
}

// PruneStore removes what time made worthless.
type PruneStore interface {
	PruneLogins(ctx context.Context, now time.Time) (int64, error)
}

// Store is everything the use cases need kept; broker/store implements it.
type Store interface {
	Transactor
	UserStore
	TokenStore
	LinkStore
	LoginStore
	HostStore
	OriginStore
	TaskStore
	TurnStore
	MessageStore
	EventStore
	InteractionStore
	ChangeStore
	BatchStore
	AppendStore
	PruneStore
}
