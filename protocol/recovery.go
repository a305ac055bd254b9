package protocol

import "time"

// TurnPrompt is what a turn was asked, from its host's journal. A host adds it to
// events that it sends again, so that a broker whose database went back in time
// gets the user's message back. MessageID is "" when the broker did not send it.
type TurnPrompt struct {
	TurnID    string    `json:"turnId"`
	MessageID string    `json:"messageId,omitempty"`
	Text      string    `json:"text"`
	At        time.Time `json:"at"`
	Truncated bool      `json:"truncated,omitempty"` // Text is only the beginning
}

// ReconcileRequest is the body of POST /reconcile on the agent host. The host
// compares those of the broker's sessions that it has not compared since the incarnation
// began. With Force it compares others again: those that Sessions names, or all of them
// if it names none.
type ReconcileRequest struct {
	BrokerID    string   `json:"brokerId"`
	Incarnation string   `json:"incarnation"`
	Force       bool     `json:"force,omitempty"`
	Sessions    []string `json:"sessions,omitempty"`
}

// ReconcileResponse is the response to POST /reconcile. It does not wait for the
// comparisons; Pending falls to 0 when they are done.
type ReconcileResponse struct {
	Sessions       int   `json:"sessions"`       // of the broker
	Pending        int   `json:"pending"`        // not compared yet
	Unknown        int   `json:"unknown"`        // compared, and the broker has no such task
	Unacknowledged int64 `json:"unacknowledged"` // events of all sessions but the unknown ones

	// Acknowledged are the positions of the newest acknowledgements.
	Acknowledged []SessionCursor `json:"acknowledged"`
}

// SessionCursor is a position in a session.
type SessionCursor struct {
	SessionID string `json:"sessionId"`
	Cursor    Cursor `json:"cursor"`
}

// BoundSession is a session that is bound to a broker, as GET /session on the
// agent host lists it.
type BoundSession struct {
	SessionID    string `json:"sessionId"`
	Title        string `json:"title,omitempty"` // of the task, as the broker named it last
	Owner        string `json:"owner,omitempty"` // the id of the task's user
	Agent        string `json:"agent"`
	Project      string `json:"project"`
	Cursor       Cursor `json:"cursor"`          // of the newest event
	Acknowledged Cursor `json:"acknowledged"`    // the broker has everything up to here
	Keyed        bool   `json:"keyed,omitempty"` // a list leaves out Title and Owner: they need the session's key

	OpenTurn *string `json:"openTurn,omitempty"` // "" if none is; only of GET /session/:id, nil from hosts that do not tell

	CreatedAt      time.Time `json:"createdAt"`
	LastActivityAt time.Time `json:"lastActivityAt"`
}

// BoundSessionList is a page of sessions by id. NextAfter is "" on the last page.
type BoundSessionList struct {
	Sessions  []BoundSession `json:"sessions"`
	NextAfter string         `json:"nextAfter"`
}

// Orphan is a session of a host whose task the broker does not have.
type Orphan struct {
	Session  BoundSession `json:"session"`
	HostID   string       `json:"hostId"`
	HostName string       `json:"hostName"`
	Email    string       `json:"email"` // of the owner; "" if the broker does not have that user
}

// OrphanList is the response of GET /api/orphans. Unreachable names the hosts that
// could not be asked.
type OrphanList struct {
	Orphans     []Orphan `json:"orphans"`
	Unreachable []string `json:"unreachable"`
}

// AdoptRequest is the body of POST /api/orphans/:sessionId. Email names the user who
// gets the task; "" is the owner. Title "" is the title that the host knows.
type AdoptRequest struct {
	HostID string `json:"hostId"`
	Email  string `json:"email,omitempty"`
	Title  string `json:"title,omitempty"`
}
