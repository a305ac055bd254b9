package notebook

import (
	"time"

	"bellhop/protocol"
)

// Notebook holds the sources of one agent session.
type Notebook struct {
	ID          string
	UserID      string
	SessionID   string
	Title       string
	Description string
	CreatedAt   time.Time
}

// Source is a piece of code; its text is in its versions.
type Source struct {
	ID            string
	UserID        string
	NotebookID    string
	SessionID     string
	Title         string
	Language      string
	Context       string // why and where the agent wrote it
	Metadata      map[string]any
	Version       int64 // the newest version's number
	LastSeq       int64 // the newest message's number
	LastMessageAt *time.Time
	CreatedAt     time.Time
}

// Version is one state of a source's code. After it was inserted, only Verification changes,
// once, from nil.
type Version struct {
	SourceID     string
	Number       int64
	Code         string
	Omitted      bool // Code and Diff were left out of a list
	Diff         string
	Description  string
	Author       string // the agent's identifier
	MessageID    string // the message that brought it; "" = saved by the agent
	Verification *protocol.Verification
	CreatedAt    time.Time
}

// MessageState is the state of a user's message; see the package comment.
type MessageState string

// The states of a user's message. An agent's message is Delivered from the start.
const (
	Pending     MessageState = "pending"
	Delivered   MessageState = "delivered"
	Undelivered MessageState = "undelivered"
	Refused     MessageState = "refused"
	Answered    MessageState = "answered"
)

// Message is part of the conversation about a source.
type Message struct {
	ID          string
	SourceID    string
	Seq         int64 // from 1, without gaps
	Role        protocol.FollowupRole
	Content     string
	Attachments []protocol.FollowupAttachment
	ReplyTo     string // only for an agent's message: id of the user's message
	State       MessageState
	Failure     string // why it did not reach the agent, or why the agent refused it
	DeliveredAt *time.Time
	ReadAt      *time.Time
	SeenAt      *time.Time // when the user's page showed Failure
	CreatedAt   time.Time

	// Version is the version that the message brought, 0 = none. Description and Diff are that
	// version's and not stored here.
	Version     int64
	Description string
	Diff        string
}

// Followup is an unanswered message with what the agent must know of its source.
type Followup struct {
	Message
	SourceTitle    string
	SourceLanguage string
	SourceContext  string
	SourceVersion  int64
}
