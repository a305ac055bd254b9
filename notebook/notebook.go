package notebook

import (
	"time"

	"bellhop/protocol"
)

// Notebook is what one agent session saved.
type Notebook struct {
	ID          string
	UserID      string
	SessionID   string
	Title       string
	Description string
	CreatedAt   time.Time
}

// Source is a piece of code; its code is in its versions.
type Source struct {
	ID            string
	UserID        string
	NotebookID    string
	SessionID     string
	Title         string
	Language      string
	Context       string // why and where the agent wrote it
	Metadata      map[string]any
	Version       int64 // the newest
	LastSeq       int64 // of its messages
	LastMessageAt *time.Time
	CreatedAt     time.Time
}

// Version is one state of a source's code. Only its Verification ever changes,
// and only from nil.
type Version struct {
	SourceID     string
	Number       int64
	Code         string
	Omitted      bool // Code and Diff were left out of a list
	Diff         string
	Description  string
	Author       string // the agent's identifier
	MessageID    string // that brought it, "" = saved
	Verification *protocol.Verification
	CreatedAt    time.Time
}

// MessageState is where a message stands; see the package comment.
type MessageState string

// The states of a user's message. An agent's message is delivered at once.
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
	Seq         int64 // dense, from 1
	Role        protocol.FollowupRole
	Content     string
	Attachments []protocol.FollowupAttachment
	ReplyTo     string // of an agent's message: the user's
	State       MessageState
	Failure     string // why it did not reach the agent, or what the agent said
	DeliveredAt *time.Time
	ReadAt      *time.Time
	CreatedAt   time.Time

	// Version is the version it brought, 0 = none; Description and Diff are read
	// from there and not kept.
	Version     int64
	Description string
	Diff        string
}

// Followup is a message that waits for an answer, with its source's title.
type Followup struct {
	Message
	SourceTitle string
}
