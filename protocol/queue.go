package protocol

import "time"

// QueuePause says why the broker starts none of a task's queued messages. "" means that
// it starts them.
type QueuePause string

// Pauses of a queue. Only a user resumes it, unless it was paused because its user was disabled; an empty
// queue is not paused.
const (
	PauseStopped QueuePause = "stopped" // a user stopped the agent
	PauseFailed  QueuePause = "failed"  // a turn failed, or the host refused a message
	PauseUnknown QueuePause = "unknown" // whether the host received the last message is not known

	PauseDisabled QueuePause = "user-disabled" // the user is disabled; the queue goes on when they are enabled
)

// TaskQueue describes a task's queued messages, in the task. Rev changes with each change
// of the queue.
type TaskQueue struct {
	Messages int        `json:"messages"`
	Rev      int64      `json:"rev"`
	Paused   QueuePause `json:"paused,omitempty"`
	Reason   string     `json:"reason,omitempty"` // of the turn or the refusal that paused it
}

// QueuedState is the state of a queued message.
type QueuedState string

// States of queued messages. A message that is being sent cannot be changed. Sent is only
// in the answer to a repeated request: the message has left the queue.
const (
	QueuedWaiting QueuedState = "waiting"
	QueuedSending QueuedState = "sending"
	QueuedSent    QueuedState = "sent"
)

// QueuedMessage is a message that the broker sends when the agent is idle. ID is the
// message's id, in the queue and in the task's history.
type QueuedMessage struct {
	ID          string             `json:"id"`
	Message     string             `json:"message"`
	Artifacts   []ArtifactInput    `json:"artifacts,omitempty"`
	Attachments []QueuedAttachment `json:"attachments,omitempty"`
	State       QueuedState        `json:"state"`
	Failure     string             `json:"failure,omitempty"` // why the last attempt to send it failed
	RetryAt     *time.Time         `json:"retryAt,omitempty"` // of the next attempt, after a failure
	CreatedAt   time.Time          `json:"createdAt"`
}

// QueuedAttachment describes an attachment of a queued message. Bytes is the size of its content.
type QueuedAttachment struct {
	Type      AttachmentType `json:"type"`
	MediaType string         `json:"mediaType"`
	Name      string         `json:"name,omitempty"`
	Bytes     int            `json:"bytes"`
}

// Queue is the answer to GET /api/tasks/:id/queue, the next message first.
type Queue struct {
	Messages []QueuedMessage `json:"messages"`
	Rev      int64           `json:"rev"`
	Paused   QueuePause      `json:"paused,omitempty"`
	Reason   string          `json:"reason,omitempty"`
}

// QueueMessageRequest is the body of POST /api/tasks/:id/queue. MessageID makes the
// request idempotent, as in a check-in.
type QueueMessageRequest struct {
	Message     string          `json:"message"`
	MessageID   string          `json:"messageId,omitempty"`
	Artifacts   []ArtifactInput `json:"artifacts,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
}

// QueueChange is the body of PATCH /api/tasks/:id/queue: false resumes the queue.
type QueueChange struct {
	Paused *bool `json:"paused"`
}

// QueuedMessageChange is the body of PATCH /api/tasks/:id/queue/:messageId. Position
// counts the waiting messages from 0; one beyond the last is the last.
type QueuedMessageChange struct {
	Message  *string `json:"message,omitempty"`
	Position *int    `json:"position,omitempty"`
}
