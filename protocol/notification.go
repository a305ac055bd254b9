package protocol

import "time"

// NotificationEvent is what browsers are notified of while the console is closed, section 3.
type NotificationEvent string

// Events of notifications.
const (
	NotifyQuestion NotificationEvent = "question" // a question to the user is open
	NotifyFinished NotificationEvent = "finished" // a turn has ended
	NotifyFailed   NotificationEvent = "failed"   // a turn has failed, or its agent or host is lost
	NotifyFollowup NotificationEvent = "followup" // an agent has answered a question about a source, or cannot
)

// NotificationEvents returns all events, in the order in which people are shown them.
func NotificationEvents() []NotificationEvent {
	return []NotificationEvent{NotifyQuestion, NotifyFinished, NotifyFailed, NotifyFollowup}
}

// Notification is the message to a browser. Only the browser can open it: the push service gets it encrypted.
// It has no secret, and its texts are one harmless paragraph each.
type Notification struct {
	ID            string            `json:"id"` // the same when it is sent again
	Event         NotificationEvent `json:"event"`
	TaskID        string            `json:"taskId,omitempty"`
	InteractionID string            `json:"interactionId,omitempty"`
	SourceID      string            `json:"sourceId,omitempty"`
	Title         string            `json:"title"`
	Text          string            `json:"text"`
	// Answerable reports that Allow and Deny may be offered: the text is the whole question, whose level is not
	// CRITICAL.
	Answerable bool      `json:"answerable,omitempty"`
	At         time.Time `json:"at"`
}

// NotificationSubscription is a browser that gets notifications, as its user sees it.
type NotificationSubscription struct {
	ID              string              `json:"id"`
	Browser         string              `json:"browser"` // what the browser says about itself
	Service         string              `json:"service"` // origin of its push service
	Events          []NotificationEvent `json:"events"`
	Current         bool                `json:"current"` // it belongs to the sign-in of the request
	CreatedAt       time.Time           `json:"createdAt"`
	LastDeliveredAt *time.Time          `json:"lastDeliveredAt,omitempty"`
}
