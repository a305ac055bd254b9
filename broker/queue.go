package broker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/protocol"
)

// Queue keeps the messages that users write while an agent works, and starts their turns one
// after another, whether a page is open or not (ADR 37).
//
//	waiting ──claim──► sending ──the session is open──► sent ──the host has the prompt──► removed
//	   ▲                  │                               │ refused, or unknown──► removed, paused
//	   └──────failed──────┘                               └ failed──► sent again, as the same turn
//
// The turn's id follows from the message's id. A host starts a turn once, so that a broker which
// stopped between its request and the host's answer repeats the request.
type Queue struct {
	Store    QueueStore
	Updater  *Updater
	Sessions *Sessions
	Lease    time.Duration // how long one attempt may take; 0 = 30 s
	Now      func() time.Time
	Log      *slog.Logger

	runner queueRunner
}

// QueueStore stores the queued messages. All methods join the transaction of their context.
type QueueStore interface {
	Task(ctx context.Context, userID, id string) (*Task, error)
	AnyTask(ctx context.Context, id string) (*Task, error)
	Message(ctx context.Context, taskID, id string) (*Message, error)
	// Queued returns the messages of a task, the next one first.
	Queued(ctx context.Context, taskID string) ([]QueuedMessage, error)
	QueuedAttachments(ctx context.Context, taskID, id string) ([]protocol.Attachment, error)
	AddQueued(ctx context.Context, m *QueuedMessage, attachments []protocol.Attachment) error
	SaveQueued(ctx context.Context, m *QueuedMessage) error
	RemoveQueued(ctx context.Context, taskID, id string) error
	ClearQueue(ctx context.Context, taskID string) error
	// DueQueues returns the tasks whose next message may be due, but none of the hosts to skip.
	DueQueues(ctx context.Context, now time.Time, skip []string, limit int) ([]DueTask, error)
	User(ctx context.Context, id string) (*User, error)
	// WithheldQueues returns the tasks whose queues are paused because their users could not sign in,
	// and now can.
	WithheldQueues(ctx context.Context, limit int) ([]string, error)
	// Read runs fn on one consistent view of the data.
	Read(ctx context.Context, fn func(ctx context.Context) error) error
}

// TaskQueue is a task's summary of its queue.
type TaskQueue struct {
	protocol.TaskQueue
	Now string // id of the message that a user wants sent at once, "" for none
}

// QueuedState is the state of a queued message.
type QueuedState string

// States of queued messages.
const (
	queuedWaiting QueuedState = "waiting"
	queuedSending QueuedState = "sending" // the host has not received it
	queuedSent    QueuedState = "sent"    // the host may have received it
)

// QueuedMessage is a message that waits for its task's agent.
type QueuedMessage struct {
	TaskID, ID string
	Position   int64 // the lowest is next
	Message    string
	Artifacts  []protocol.ArtifactInput
	Files      []protocol.QueuedAttachment
	Bytes      int    // of its content
	Hash       string // of its content when it was added
	State      QueuedState
	Turn       int    // how many turns its host has refused to start
	TurnID     string // of its last attempt
	Place      string // host or URL that it was sent to
	Attempts   int    // since the last success
	Failure    string // of the last attempt
	DueAt      time.Time
	CreatedAt  time.Time
}

// View returns the message as the API shows it.
func (m *QueuedMessage) View() *protocol.QueuedMessage {
	v := &protocol.QueuedMessage{
		ID: m.ID, Message: m.Message, Artifacts: m.Artifacts, Attachments: m.Files, State: protocol.QueuedWaiting,
		Failure: m.Failure, CreatedAt: m.CreatedAt,
	}
	if m.State != queuedWaiting {
		v.State = protocol.QueuedSending
	}
	if m.Failure != "" {
		v.RetryAt = &m.DueAt
	}
	return v
}

// List returns a task's queue. CodeNotFound: another user's task.
func (q *Queue) List(ctx context.Context, userID, taskID string) (list *protocol.Queue, err error) {
	err = q.Store.Read(ctx, func(ctx context.Context) error {
		task, err := q.Store.Task(ctx, userID, taskID)
		if err != nil {
			return err
		}
		messages, err := q.Store.Queued(ctx, taskID)
		if err != nil {
			return err
		}
		list = &protocol.Queue{
			Messages: []protocol.QueuedMessage{}, Rev: task.Queue.Rev, Paused: task.Queue.Paused, Reason: task.Queue.Reason,
		}
		for i := range messages {
			list.Messages = append(list.Messages, *messages[i].View())
		}
		return nil
	})
	return list, err
}

// Add queues a message. Repeating the request is no error. CodeConflict: another message has
// this id, the queue is full, or the task is archived.
func (q *Queue) Add(
	ctx context.Context, userID, taskID string, req *protocol.QueueMessageRequest,
) (*protocol.QueuedMessage, error) {
	m, err := newQueuedMessage(taskID, req)
	if err != nil {
		return nil, err
	}
	quota := q.Sessions.Quotas.allowMessage(ctx, userID, m.Bytes) // reads too much to do so while the task is locked
	_, err = q.update(ctx, userID, taskID, func(ctx context.Context, tx *queueTx) error {
		known, err := q.known(ctx, tx, m)
		if known != nil || err != nil {
			m = cmp.Or(known, m)
			return err
		}
		if err := errors.Join(tx.fits(m.Bytes, 1), quota); err != nil {
			return err
		}
		m.DueAt, m.CreatedAt = tx.now, tx.now
		if n := len(tx.messages); n > 0 {
			m.Position = tx.messages[n-1].Position + 1
		}
		tx.task.LastActivityAt = tx.now
		tx.messages = append(tx.messages, *m)
		tx.touchQueue()
		return q.Store.AddQueued(ctx, m, req.Attachments)
	})
	if err != nil {
		return nil, err
	}
	if m.State == "" {
		return &protocol.QueuedMessage{ID: m.ID, Message: m.Message, State: protocol.QueuedSent, CreatedAt: m.CreatedAt}, nil
	}
	return m.View(), nil
}

// known returns the message of an earlier request with this id; its state is "" if it has
// left the queue. nil: there was none.
func (q *Queue) known(ctx context.Context, tx *queueTx, m *QueuedMessage) (*QueuedMessage, error) {
	conflict := protocol.Errorf(protocol.CodeConflict, "Another message has this messageId")
	if i := tx.index(m.ID); i >= 0 {
		if tx.messages[i].Hash != m.Hash {
			return nil, conflict
		}
		return &tx.messages[i], nil
	}
	stored, err := q.Store.Message(ctx, m.TaskID, m.ID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return nil, nil //nolint:nilnil // there is none, which is the usual case
	case err != nil:
		return nil, err
	case stored.Role != protocol.RoleUser || stored.Message.Message != m.Message:
		return nil, conflict
	}
	return &QueuedMessage{TaskID: m.TaskID, ID: m.ID, Message: m.Message, CreatedAt: stored.CreatedAt}, nil
}

// newQueuedMessage validates a request.
func newQueuedMessage(taskID string, req *protocol.QueueMessageRequest) (*QueuedMessage, error) {
	if err := checkQueuedText(req.Message); err != nil {
		return nil, err
	}
	body, err := checkMessage(&protocol.CheckInRequest{
		Message: req.Message, Artifacts: req.Artifacts, MessageID: req.MessageID,
	})
	if err != nil {
		return nil, err
	}
	if err := protocol.CheckAttachments(req.Attachments); err != nil {
		return nil, err
	}
	m := &QueuedMessage{
		TaskID: taskID, ID: cmp.Or(req.MessageID, protocol.NewID()), Message: req.Message,
		Artifacts: req.Artifacts, State: queuedWaiting, Bytes: sizeOf(req.Message, req.Artifacts),
	}
	sum := sha256.New()
	sum.Write([]byte(body.hash))
	for _, a := range req.Attachments {
		m.Bytes += len(a.Data)
		m.Files = append(m.Files, protocol.QueuedAttachment{
			Type: a.Type, MediaType: a.MediaType, Name: a.Name, Bytes: len(a.Data) / 4 * 3,
		})
		sum.Write([]byte("\x00" + a.Type + "\x00" + a.MediaType + "\x00" + a.Data + "\x00" + a.Name))
	}
	m.Hash = hex.EncodeToString(sum.Sum(nil))
	return m, checkPromptSize(req.Message, req.Attachments)
}

func checkQueuedText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "message is required", Hint: "Delete the queued message to take it back",
		}
	case len(text) > protocol.MaxMessage:
		return protocol.Errorf(protocol.CodeInvalid, "message is longer than 1 MiB")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return protocol.Errorf(protocol.CodeInvalid, "message must be valid UTF-8 without NUL")
	}
	return nil
}

// checkPromptSize returns CodeTooLarge for a prompt that every host would refuse.
func checkPromptSize(message string, attachments []protocol.Attachment) error {
	raw, err := json.Marshal(protocol.PromptRequest{Prompt: message, Attachments: attachments})
	if err == nil && len(raw) > protocol.MaxPrompt {
		return &protocol.Error{
			Code: protocol.CodeTooLarge, Message: "The message and its attachments are larger than 12 MiB",
			Hint: "Send fewer or smaller attachments",
		}
	}
	return err
}

// queueTx is a transaction on a task and its queue.
type queueTx struct {
	*taskTx
	messages []QueuedMessage // the next one first
}

// update runs change on a user's task and its queue in one transaction.
func (q *Queue) update(
	ctx context.Context, userID, taskID string, change func(ctx context.Context, tx *queueTx) error,
) (*taskTx, error) {
	return q.Updater.updateTask(ctx, userID, taskID, func(ctx context.Context, tx *taskTx) error {
		if tx.task.Mode != protocol.ModeAgent {
			return errNoAgent()
		}
		messages, err := q.Store.Queued(ctx, taskID)
		if err != nil {
			return err
		}
		inQueue := &queueTx{tx, messages}
		if err := change(ctx, inQueue); err != nil {
			return err
		}
		inQueue.countQueue()
		return nil
	})
}

// countQueue brings the task's summary up to date. An empty queue is not paused.
func (tx *queueTx) countQueue() {
	tx.task.Queue.Messages = len(tx.messages)
	if len(tx.messages) == 0 {
		tx.task.Queue.Paused, tx.task.Queue.Reason, tx.task.Queue.Now = "", "", ""
	}
}

func (tx *queueTx) index(id string) int {
	return slices.IndexFunc(tx.messages, func(m QueuedMessage) bool { return m.ID == id })
}

// fits returns CodeConflict if so many further bytes or messages would make the queue too large, and for a further
// message of an archived task.
func (tx *queueTx) fits(bytes, messages int) error {
	for i := range tx.messages {
		bytes += tx.messages[i].Bytes
	}
	conflict := func(message, hint string) error {
		return &protocol.Error{Code: protocol.CodeConflict, Message: message, Hint: hint}
	}
	switch {
	case tx.task.Archived && messages > 0:
		return errArchived()
	case len(tx.messages)+messages > protocol.MaxQueued:
		return conflict("50 messages are queued already", "Wait until one was sent, or remove one")
	case bytes > protocol.MaxQueue:
		return conflict("The queued messages have more than 24 MiB in all", "Wait until one was sent, or remove one")
	}
	return nil
}

func errArchived() error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The task is archived", Hint: "Take it out of the archive first",
	}
}

// touchQueue records that the queue changed.
func (tx *taskTx) touchQueue() {
	tx.task.Queue.Rev++
	tx.touch()
}

// pauseQueue keeps the queued messages until a user resumes the queue.
func (tx *taskTx) pauseQueue(why protocol.QueuePause, reason string) {
	if q := &tx.task.Queue; q.Messages == 0 || q.Paused != "" && q.Paused != protocol.PauseDisabled {
		return
	}
	tx.task.Queue.Paused, tx.task.Queue.Reason, tx.task.Queue.Now = why, shortReason(reason), ""
	tx.touchQueue()
}

// pauseAfter pauses the queue after a turn that a user stopped or that failed. A turn that was
// stopped for another message, and one that never started, do not count.
func (tx *taskTx) pauseAfter(end protocol.LastTurn) {
	switch {
	case end.Reason == protocol.ReasonAborted:
		if tx.task.Queue.Now == "" {
			tx.pauseQueue(protocol.PauseStopped, "")
		}
	case end.Reason == protocol.ReasonNotStarted:
	case end.FinishReason == protocol.FinishError, end.FinishReason == protocol.FinishOther:
		tx.pauseQueue(protocol.PauseFailed, cmp.Or(end.Reason, string(end.FinishReason)))
	}
}
