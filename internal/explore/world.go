package explore

import (
	"slices"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

const (
	hostCount   = 2
	brokerCount = 2
)

// Limits bounds how often each action happens in a World.
type Limits struct {
	Events   int // texts of agents
	Faults   int // losses, delays, repetitions and lies of the network
	Pulls    int
	CheckIns int
	Restarts int // of a host
	Journals int // restores of a host's journal
	Database int // restores of the database
	Moves    int // of the task to the other host
	Forged   int // events of a program that stole the webhook token
}

// Rules turns fixes off. The zero Rules are Bellhop as it is.
type Rules struct {
	AnyCursor     bool // B1: a receipt's cursor counts beyond the request's events
	AnySuccess    bool // B2: any JSON object with status 200 is a receipt
	NoRewind      bool // a comparison after a restore of the database does not rewind
	NoWithholding bool // a pull gets later events before those that the broker refused
	NoMoves       bool // a known event at another position is a conflict
	AnyEpoch      bool // an epoch is accepted without asking the host
	LateLabel     bool // an answer names the incarnation that the broker knows after it read the database
	AnyOrder      bool // a check-in that comes late takes the place of a later one
}

// World is a state of two hosts, one database, two brokers and the requests between them.
// Actions copy it; what it points to is never changed.
type World struct {
	rules  *Rules
	left   Limits
	hosts  [hostCount]host
	db     database
	backup database // what a restore of the database returns to
	broker [brokerCount]broker
	posts  []request

	incarnations int      // number of incarnations so far; also the newest one
	checkIns     int      // number of check-ins so far
	excused      []string // ids of events that a restore lost
	restored     [2]bool  // a journal, the database
	moved        bool     // the task has changed its host
	problem      string   // a violation found while an action was done
}

// rowOf is a stored event.
type rowOf struct {
	id     string
	host   int // that made it; -1 for a forged one
	digest string
	at     protocol.Cursor
	late   bool
}

// database is what all brokers share.
type database struct {
	rows        []rowOf // in the order of their effects
	cursor      protocol.Cursor
	rev         int64 // number of the task's check-ins
	incarnation int
	copied      bool // it was restored, and no broker has begun a new incarnation since
	host        int  // of the task
}

// broker is one replica's memory.
type broker struct {
	incarnation, former int // of the database as it was loaded last, and before
	pull                pull
}

// journal is what a host has committed.
type journal struct {
	session core.SessionRecord
	turns   []core.TurnRecord // unfinished ones
	events  []core.EventRecord
	letters int // dead letters
}

// host is one agent host with the task's session.
type host struct {
	state   core.State
	journal journal
	backup  journal
	ids     int      // that were used for events; it survives restores
	made    []string // ids of all events that were shown
	latest  turnRev  // of the check-ins that it took
}

// turnRev is the task's revision at a check-in, which an incarnation names.
type turnRev struct {
	incarnation int
	rev         int64
}

// Trace is the names of actions.
type Trace []string

// clone returns a World that may be changed.
func (w *World) clone() *World {
	next := *w
	next.posts = slices.Clone(w.posts)
	return &next
}

func (w *World) fail(problem string) {
	if w.problem == "" {
		w.problem = problem
	}
}

func (d *database) find(id string) *rowOf {
	for i := range d.rows {
		if d.rows[i].id == id {
			return &d.rows[i]
		}
	}
	return nil
}

// at returns the row with effects at a position.
func (d *database) at(c protocol.Cursor) *rowOf {
	for i := range d.rows {
		if d.rows[i].at == c && !d.rows[i].late {
			return &d.rows[i]
		}
	}
	return nil
}

func (j *journal) find(id string) *core.EventRecord {
	for i := range j.events {
		if j.events[i].EventID == id {
			return &j.events[i]
		}
	}
	return nil
}

// after returns the events after a cursor, at most limit; 0 is all.
func (j *journal) after(c protocol.Cursor, limit int) []core.EventRecord {
	var found []core.EventRecord
	for i := range j.events {
		if c.Less(j.events[i].Cursor) && (limit == 0 || len(found) < limit) {
			found = append(found, j.events[i])
		}
	}
	return found
}
