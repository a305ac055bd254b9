package e2e

import (
	"fmt"

	"bellhop/protocol"
)

// history is everything that can be known about a run once it is quiet.
type history struct {
	Sessions []*sessionHistory
}

// sessionHistory is one task, told by all sides.
type sessionHistory struct {
	ID string

	// The host: its journal's file, its answer to GET …/events, its /status.
	Journal      []event // all epochs, in order
	Served       []event // of the newest epoch
	HostTurns    []hostTurn
	Cursor       protocol.Cursor
	Acknowledged protocol.Cursor
	DeadLetters  int

	// The broker: its database.
	Rows        []event
	Messages    []protocol.Message // by seq
	BrokerTurns []brokerTurn
	OpenTurn    string
	BrokerAt    protocol.Cursor
	Rev         int64
	Refused     []string // audit entries
	OpenAsks    int

	// The users.
	Sent     []sent
	Readings []reading
	Feed     *feed // of one user who followed the task all the time; nil for none
}

// event is a final event: in the journal, in an answer or in a row.
type event struct {
	Cursor protocol.Cursor
	ID     string
	TurnID string
	Type   protocol.EventType
	Body   string
	Part   string // the part that announced it; journal only
	Frame  string // that part's stream id; journal only
	Late   bool   // rows only
}

// hostTurn is a turn in the journal.
type hostTurn struct {
	ID      string
	State   string
	Started bool
	Reason  string
}

// brokerTurn is a turn in the database.
type brokerTurn struct {
	ID        string
	MessageID string
	State     string
	Finish    protocol.FinishReason
	Reason    string
}

// sent is a message whose check-in succeeded in the end.
type sent struct {
	MessageID string
	TurnID    string
	Text      string
}

// reading is all that one reader was told of one turn.
type reading struct {
	Name  string
	Turn  string // "" when it only watches
	Conns []connection
	Ended bool // by the turn's end, as the reader saw it
	Error string
	Texts []string // as the client put them together
}

// feed is what the broker's feed said of a task.
type feed struct {
	Revs     []int64
	Messages map[string]protocol.Message // as last told
	Resets   int
}

// connection is one answer of the host: the frames that arrived whole.
type connection struct {
	Method string
	After  string // the id it resumed after
	Frames []seenFrame
}

type seenFrame struct{ ID, Data string }

// violation is a broken promise.
type violation struct {
	Rule    string
	Session string
	What    string
}

func (v violation) String() string { return fmt.Sprintf("%s [%s] %s", v.Rule, v.Session, v.What) }

// checker collects the violations of one session.
type checker struct {
	*sessionHistory
	found []violation

	byID map[string]*event // the journal
}

func (c *checker) report(rule, format string, args ...any) {
	c.found = append(c.found, violation{rule, c.ID, fmt.Sprintf(format, args...)})
}

// check returns every broken promise of a history.
func check(h *history) []violation {
	var found []violation
	for _, s := range h.Sessions {
		c := &checker{sessionHistory: s, byID: map[string]*event{}}
		for i := range s.Journal {
			c.byID[s.Journal[i].ID] = &s.Journal[i]
		}
		c.quiet()
		c.journal()
		c.database()
		c.turns()
		c.users()
		c.texts()
		c.tools()
		c.streams()
		c.feed()
		found = append(found, c.found...)
	}
	return found
}
