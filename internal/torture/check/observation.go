package check

import "fmt"

// Types of events that the checker interprets; others are only compared.
const (
	Text       = "text"
	ToolCall   = "tool-call"
	ToolResult = "tool-result"
	Finish     = "finish"
)

// Observation is everything that was read from outside after a run became quiet.
type Observation struct {
	Sessions []*Session `json:"sessions"`
}

// Session is one task, as seen from all sides.
type Session struct {
	ID string `json:"id"`

	// How often each side went back to a backup.
	JournalRestores  int `json:"journalRestores"` // of the session's host
	DatabaseRestores int `json:"databaseRestores"`

	// From the host: its journal's file and its HTTP routes.
	Journal      []Event       `json:"journal"`      // in the order of epoch and seq
	Forgotten    []Event       `json:"forgotten"`    // acknowledged events of journals that a restore replaced
	Unsent       []Event       `json:"unsent"`       // other events of such journals: they may be lost with their disk
	Served       []Event       `json:"served"`       // GET /session/:id/events: the newest epoch
	HostTurns    []HostTurn    `json:"hostTurns"`    // of the journal
	Cursor       Cursor        `json:"cursor"`       // of /status
	Acknowledged Cursor        `json:"acknowledged"` // of /status
	DeadLetters  int           `json:"deadLetters"`
	Prompts      []LedgerEntry `json:"prompts"` // what the agent itself recorded

	// From the broker: its database by SQL, its messages by HTTP.
	Rows      []Event      `json:"rows"`
	Turns     []BrokerTurn `json:"turns"`
	BrokerAt  Cursor       `json:"brokerAt"`
	OpenTurn  string       `json:"openTurn"`
	OpenAsks  int          `json:"openAsks"`
	Audit     []string     `json:"audit"`
	Messages  []Message    `json:"messages"`  // by SQL
	Displayed []Message    `json:"displayed"` // by HTTP
	Used      Used         `json:"used"`      // by HTTP

	// From outside both.
	Sent     []Sent    `json:"sent"`
	Readings []Reading `json:"readings"`
	Receipts []Receipt `json:"receipts"`

	Trespasses []string `json:"trespasses"` // sessions that a stream token of this one opened
}

// Cursor is a position in a session's events.
type Cursor struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

func (c Cursor) less(d Cursor) bool {
	return c.Epoch < d.Epoch || c.Epoch == d.Epoch && c.Seq < d.Seq
}

func (c Cursor) String() string { return fmt.Sprintf("%d/%d", c.Epoch, c.Seq) }

// Event is a final event in a journal, in an answer or in a row.
type Event struct {
	At   Cursor `json:"at"`
	ID   string `json:"id"`
	Turn string `json:"turn"`
	Type string `json:"type"`
	Body string `json:"body"` // JSON
	Late bool   `json:"late,omitempty"`
}

// Content is what a script says that a turn leaves.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"` // the text, or the tool's output
	Call string `json:"call,omitempty"`
}

// HostTurn is a turn in the journal.
type HostTurn struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Started bool   `json:"started"`
}

// BrokerTurn is a turn in the broker's database.
type BrokerTurn struct {
	ID           string `json:"id"`
	MessageID    string `json:"messageId"`
	State        string `json:"state"`
	FinishReason string `json:"finishReason"`
	Reason       string `json:"reason"`
	Usage        string `json:"usage"` // JSON, "" = none
}

// Used is what a task used, as the broker adds it up.
type Used struct {
	Turns  int   `json:"turns"` // that reported anything
	Tokens int64 `json:"tokens"`
}

// Message is a row that users read.
type Message struct {
	ID      string `json:"id"`
	Seq     int64  `json:"seq"`
	Turn    string `json:"turn"`
	Role    string `json:"role"`
	Status  string `json:"status"`
	Text    string `json:"text"`
	EventID string `json:"eventId"`
	Tools   []Tool `json:"tools,omitempty"`
}

// Tool is the use of a tool in a message.
type Tool struct {
	Call   string `json:"call"`
	State  string `json:"state"`
	Output string `json:"output"` // JSON
}

// Sent is a message whose check-in a broker confirmed.
type Sent struct {
	MessageID string    `json:"messageId"`
	Label     string    `json:"label"`
	Text      string    `json:"text"`
	Turns     []string  `json:"turns"`    // that check-ins named, the last one last
	Expected  []Content `json:"expected"` // of a complete turn
	Tokens    int64     `json:"tokens"`   // that a complete turn uses

	Interrupted bool `json:"interrupted"` // by its user
}

// LedgerEntry says how often the agent began a prompt.
type LedgerEntry struct {
	Label string `json:"label"`
	Times int    `json:"times"`
}

// Reading is what one reader received of a session's stream.
type Reading struct {
	Connections []Connection `json:"connections"`
}

// Connection is one response: the frames that arrived whole.
type Connection struct {
	After  string  `json:"after"` // the id to resume after, "" from the turn's start
	Frames []Frame `json:"frames"`
}

// Frame is one frame of a stream. Event is set if it completes a final event.
type Frame struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	Event string `json:"event,omitempty"`
	Turn  string `json:"turn,omitempty"`
	Text  string `json:"text,omitempty"` // of a text-delta
	Block string `json:"block,omitempty"`

	Verdict string `json:"verdict,omitempty"` // of a data-resume
}

// Receipt is what a broker really answered to a host's webhook request, whatever the host was
// given.
type Receipt struct {
	Events     []string `json:"events"` // ids, in the order of the request
	Last       Cursor   `json:"last"`   // position of the last one
	Status     int      `json:"status"`
	Accepted   int      `json:"accepted"`
	Duplicates int      `json:"duplicates"`
	Cursor     Cursor   `json:"cursor"`

	LookedUp bool     `json:"lookedUp"` // in the database, before the host had the answer
	Missing  []string `json:"missing"`  // events that the database did not have then
}
