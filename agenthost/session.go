package agenthost

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/agenthost/stream"
)

// session is one session's memory. Everything behind mu follows the journal: it
// changes only after the write that says so.
type session struct {
	host    *Host
	id      string
	durable atomic.Bool // its row exists

	mu   sync.Mutex
	gone bool // deleted
	rec  SessionRecord

	next   int64 // offset of the next frame
	stream stream.Stream

	turn        *turn       // started and unfinished
	announced   *TurnRecord // announced and not started
	announcedBy *time.Timer
	queue       []*queued // turns that wait for the open one
	questions   map[string]*question
	pending     int64 // events the broker has not acknowledged
	outbox      outbox

	// gate is held while the agent is opened, stopped or closed, so that a
	// program is not stopped under a turn that begins.
	gate     sync.Mutex
	agent    Agent
	agentKey string
	agentOf  SessionRecord                     // what the agent was opened for; behind mu
	secret   string                            // of programs in the workspace, behind mu; durable once an agent was opened
	proof    atomic.Pointer[[sha256.Size]byte] // the durable secret's hash; nil: there is none
	idle     *time.Timer                       // behind mu
}

func newSession(h *Host, id string) *session {
	return &session{
		host:      h,
		id:        id,
		next:      1,
		stream:    stream.New(),
		questions: map[string]*question{},
		outbox:    newOutbox(),
	}
}

// prove makes the session's secret one that is accepted.
func (s *session) prove() {
	if s.rec.Secret != "" {
		sum := sha256.Sum256([]byte(s.rec.Secret))
		s.proof.Store(&sum)
	}
}

// openTurn is the id of the started, unfinished turn.
func (s *session) openTurn() string {
	if s.turn == nil {
		return ""
	}
	return s.turn.rec.ID
}

func stopTimer(t **time.Timer) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
}
