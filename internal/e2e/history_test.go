package e2e

import (
	"fmt"

	"bellhop/protocol"
)

// history is everything recorded of a run, after it has become quiet.
type history struct {
	Sessions []*sessionHistory
}

// sessionHistory is one task, as recorded by all sides.
type sessionHistory struct {
	ID string

	// From the host: its journal's file, its responses to GET …/events and /status.
	Journal      []event // all epochs, in order
	Served       []event // of the newest epoch
	HostTurns    []hostTurn
	Cursor       protocol.Cursor
	Acknowledged protocol.Cursor
	DeadLetters  int

	// From the broker's database.
	Rows        []event
	Messages    []protocol.Message // by seq
	BrokerTurns []brokerTurn
	OpenTurn    string
	BrokerAt    protocol.Cursor
	Rev         int64
	Refused     []string // audit entries
	OpenAsks    int

	// From the users.
	Sent     []sent
	Readings []reading
	Feed     *feed // of one user who followed the task all the time; nil = none
}

// event is a final event: in the journal, in a response or in a row.
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

type hostTurn struct {
	ID      string
	State   string
	Started bool
	Reason  string
}

type brokerTurn struct {
	ID        string
	MessageID string
	State     string
	Finish    protocol.FinishReason
	Reason    string
}

// sent is a message whose check-in finally succeeded.
type sent struct {
	MessageID string
	TurnID    string
	Text      string
}

// reading is everything that one reader received of one turn.
type reading struct {
	Name  string
	Turn  string // "" for a watcher
	Conns []connection
	Ended bool // the reader saw the end of the turn
	Error string
	Texts []string // as assembled by the client
}

// feed holds the frames that the broker's feed delivered for a task.
type feed struct {
	Revs     []int64
	Messages map[string]protocol.Message // the latest state of each
	Resets   int
}

// connection is one response of the host: the frames that arrived completely.
type connection struct {
	Method string
	After  string // the id to resume after
	Frames []seenFrame
}

type seenFrame struct{ ID, Data string }

// violation is a broken rule.
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

// check returns every violation in a history.
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
