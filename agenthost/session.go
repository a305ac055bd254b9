package agenthost

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/internal/failpoint"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// session is the shell of one session: core decides, the session writes, publishes
// and acts. All members are behind mu unless the comment says otherwise.
type session struct {
	host       *Host
	id         string
	durable    atomic.Bool                       // its row exists
	secretHash atomic.Pointer[[sha256.Size]byte] // of the durable secret; nil: there is none

	mu      sync.Mutex
	state   core.State
	stream  stream.Stream
	turn    *turn                  // the open turn as it runs
	prompts map[string]*sse.Fanout // readers of turns that are about to start, or wait for it
	asked   map[string]*question   // agents that wait for an answer
	timers  [core.Timers]*time.Timer
	secret  string // of programs in the workspace; durable once an agent was opened

	posting bool          // delivery runs
	nudges  chan struct{} // ends a wait of delivery
	wait    time.Duration // that the last step asks delivery for

	agent agentSlot
}

func newSession(h *Host, id string) *session {
	return &session{host: h, id: id, state: core.New(id), stream: stream.New(), nudges: make(chan struct{}, 1)}
}

// unwritten is the error of a step that core decided on and that could not be made
// durable. The state is what it was before.
type unwritten struct{ error }

func (e unwritten) Unwrap() error { return e.error }

// apply makes one step: decide, write, replace the state, publish, act. The lock is
// held, here and in every step that an effect makes.
func (s *session) apply(in core.Input) (*core.Step, error) {
	at := core.Moment{Time: s.host.opts.Now().UTC(), ID: protocol.NewID(), Held: s.turn.held()}
	x, err := s.state.Apply(at, in)
	if known := (*protocol.Error)(nil); err != nil && !errors.As(err, &known) { // a part that cannot be encoded
		err = unwritten{err}
	}
	if err == nil {
		err = s.write(x)
	}
	s.record(at, in, err)
	if err != nil {
		return nil, err
	}
	s.publish(x)
	return x, nil
}

// write makes the rows of a step durable.
func (s *session) write(x *core.Step) error {
	if x.Rows.Session == nil && !x.Rows.DropSession {
		return nil
	}
	// A caller that has gone must not leave memory and journal at odds.
	if err := s.host.opts.Journal.Write(context.WithoutCancel(s.host.work), &x.Rows); err != nil {
		return unwritten{err}
	}
	if x.State.Record.OffsetReserved != s.state.Record.OffsetReserved {
		failpoint.Hit("offset-block-reserved")
	}
	if len(x.Rows.Events) > 0 {
		failpoint.Hit("after-journal-append")
		failpoint.Hit("before-announce")
	}
	return nil
}

// publish replaces the state, sends the frames and runs the effects.
func (s *session) publish(x *core.Step) {
	before, now := &s.state.Record, &x.State.Record
	changed := before.Status != now.Status || before.Reason != now.Reason || before.Outbox != now.Outbox ||
		s.state.Durable != x.State.Durable
	activate := now.Secret != before.Secret
	s.state = x.State
	s.durable.Store(x.State.Durable)
	if activate {
		s.activateSecret()
	}
	if x.Window != nil {
		s.stream.ContinueAfter(*x.Window)
	}
	for i := range x.Frames {
		s.stream.Publish(stream.NewFrame(x.Frames[i].ID, x.Frames[i].Part, x.Frames[i].Boundary))
	}
	s.turn.flushed(x.Flushed)
	for _, e := range x.Effects {
		s.act(e)
	}
	if changed {
		s.host.changed()
	}
}

// report applies an input about the open turn. The turn fails if the step cannot be
// written.
func (s *session) report(in core.Input) (*core.Step, error) {
	x, err := s.apply(in)
	if lost := (unwritten{}); errors.As(err, &lost) {
		s.failTurn(lost.error, "")
		return nil, lost.error
	}
	return x, err
}

// failTurn ends the output of the open turn. stop, if any, is why it was about to be
// interrupted.
func (s *session) failTurn(err error, stop string) {
	if t := s.turn; t != nil {
		_, _ = s.apply(core.StepFailed{ // it writes nothing
			TurnID: t.id, Code: protocol.CodeOf(err), Message: t.masker.Text(explain(err)), Reason: stop,
		})
	}
}

// record passes an input on to the host's recorder.
func (s *session) record(at core.Moment, in core.Input, err error) {
	if s.host.opts.Record == nil {
		return
	}
	entry := core.Recorded{At: at.Time, ID: at.ID, Held: at.Held, Input: in}
	if err != nil {
		entry.Error = err.Error()
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		s.host.opts.Log.Warn("an input could not be recorded", "session", s.id, "kind", core.Kind(in), "error", err)
		return
	}
	s.host.opts.Record(s.id, stream.NewMasker(s.secrets()).Value(raw, "{}"))
}

// activateSecret publishes the hash of the secret, so that LocalGrant accepts it.
func (s *session) activateSecret() {
	sum := sha256.Sum256([]byte(s.state.Record.Secret))
	s.secretHash.Store(&sum)
}

func stopTimer(t **time.Timer) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
}

// explain is the part of an error that a user may read.
func explain(err error) string {
	var known *protocol.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}
