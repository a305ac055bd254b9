package agenthost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"bellhop/agenthost/stream"
	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// turn is a started, unfinished turn. Its members are behind the session's lock.
type turn struct {
	s      *session
	rec    TurnRecord
	before protocol.StreamID // the frame before its first

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when its finish is durable

	agent   Agent         // once it is running
	of      SessionRecord // what its agent was opened for
	voice   voice
	masker  stream.Masker
	calls   map[string]*call
	asked   map[string]bool // calls that came with a confirm
	stop    string          // why it is being stopped, "" while it is not
	failure error           // what its output could not make durable
	back    chan struct{}   // closed when the agent's lost connection is back; nil: it is not lost
	over    bool
}

// call is a tool call of a turn.
type call struct {
	name   string
	input  json.RawMessage
	number int // of the turn's calls
	done   bool
}

func (s *session) newTurn(rec TurnRecord) *turn {
	t := &turn{s: s, rec: rec, done: make(chan struct{}), calls: map[string]*call{}, asked: map[string]bool{}}
	t.ctx, t.cancel = context.WithCancel(s.host.work)
	t.masker = stream.NewMasker(s.secrets())
	t.voice.text, t.voice.reasoning = stream.NewScrubber(t.masker), stream.NewScrubber(t.masker)
	return t
}

// run is the turn's goroutine.
func (t *turn) run(prompt Prompt) {
	outcome, err := t.play(prompt)
	if err != nil {
		t.s.host.opts.Log.Warn("a turn could not begin", "session", t.s.id, "turn", t.rec.ID, "error", err)
		outcome = Outcome{FinishReason: protocol.FinishError, Err: explain(err)}
	}
	if t.end(outcome) { // else whoever ended it goes on when its agent is out of the way
		t.s.startQueued()
	}
}

// play lets the agent work. A provider that panics ends this turn and no other.
func (t *turn) play(prompt Prompt) (outcome Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.s.host.opts.Log.Error("a provider panicked", "session", t.s.id, "turn", t.rec.ID, "panic", t.masker.Text(fmt.Sprint(p)), "stack", string(debug.Stack()))
			outcome, err = Outcome{FinishReason: protocol.FinishError, Err: "The agent's provider failed"}, nil
		}
	}()
	agent, err := t.s.openAgent(t.ctx)
	if err != nil {
		return Outcome{}, err
	}
	t.s.mu.Lock()
	t.agent, t.of = agent, t.s.agentOf
	stopped := t.stop != "" || t.over
	t.s.mu.Unlock()
	if stopped {
		return Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}, nil
	}
	return agent.Run(t.ctx, prompt, &output{t})
}

// belongsTo reports whether the session still has the agent and the project that
// the turn began with.
func (t *turn) belongsTo(rec *SessionRecord) bool {
	return rec.Agent == t.of.Agent && rec.Project == t.of.Project
}

// explain is what a user may read of an error.
func explain(err error) string {
	var known *protocol.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

// step makes one durable step of the turn. A failure ends the turn.
func (t *turn) step(f func(*batch)) error {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.stepLocked(f)
}

func (t *turn) stepLocked(f func(*batch)) error {
	if t.over {
		return protocol.Errorf(protocol.CodeNoTurn, "The turn is over")
	}
	if t.failure != nil {
		return t.failure
	}
	before := t.voice.snapshot()
	b := t.s.begin()
	f(b)
	t.voice.splitIfFull(b, t.rec.ID)
	if err := b.commit(); err != nil {
		t.voice = before
		t.fail(err)
		return err
	}
	return nil
}

// fail stops the agent: what it says cannot be kept.
func (t *turn) fail(err error) {
	if t.failure == nil {
		t.failure = err
		t.s.host.opts.Log.Error("a turn failed", "session", t.s.id, "turn", t.rec.ID, "error", err)
	}
	t.cancel()
}

// end journals the turn's finish. While that cannot be written (a full disk) the
// turn stays open and it is tried again: one that ended without a durable finish
// would be open for ever at the broker. It reports whether this was the end.
func (t *turn) end(outcome Outcome) bool {
	defer t.cancel()
	wait := 100 * time.Millisecond
	for {
		ended, err := t.tryEnd(outcome)
		if err == nil {
			return ended
		}
		t.s.host.opts.Log.Error("a turn's finish could not be written", "session", t.s.id, "turn", t.rec.ID, "error", err)
		select {
		case <-t.s.host.posting.Done(): // the next start will write it
			return false
		case <-time.After(wait):
		}
		wait = min(wait*2, 5*time.Second)
	}
}

func (t *turn) tryEnd(outcome Outcome) (ended bool, err error) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.over {
		return false, nil
	}
	before := t.voice.snapshot()
	b := s.begin()
	t.finish(b, outcome)
	if err := b.commit(); err != nil {
		t.voice = before
		return false, err
	}
	failpoint.Hit("finish-journaled")
	return true, nil
}

// finish puts everything that ends a turn into b: its open text, its questions and
// their calls, the finish.
func (t *turn) finish(b *batch, outcome Outcome) {
	outcome = t.verdict(outcome)
	t.voice.end(b, t.rec.ID)
	t.settleQuestions(b, endingReason(outcome.Reason))
	e, p := t.finishEvent(b, outcome)
	f := b.event(t.rec.ID, e, p, true)
	b.status(t.rec.ID, protocol.StatusIdle, t.s.atRest().Reason)
	rec := t.rec
	rec.State, rec.Finished, rec.FinishReason, rec.Reason, rec.LastID = TurnFinished, b.now, e.FinishReason, e.Reason, f.ID
	b.w.Turns = append(b.w.Turns, rec)
	b.then(func() {
		t.rec, t.over = rec, true
		t.s.turn = nil
		t.s.stopRenewal()
		t.s.stream.EndTurn()
		close(t.done)
		t.s.armIdle()
	})
}

// verdict is how the turn ended, seen from the host.
func (t *turn) verdict(o Outcome) Outcome {
	switch {
	case t.failure != nil:
		o.FinishReason, o.Err, o.Reason = protocol.FinishError, explain(t.failure), string(protocol.CodeOf(t.failure))
	case t.stop != "":
		o.FinishReason, o.Reason = protocol.FinishOther, t.stop
	case o.Reason == protocol.ReasonAborted:
		o.FinishReason = protocol.FinishOther
	case o.FinishReason == "":
		o.FinishReason = protocol.FinishStop
	case !slices.Contains(finishReasons, o.FinishReason):
		o.FinishReason, o.Reason = protocol.FinishOther, string(o.FinishReason)
	}
	if o.FinishReason == protocol.FinishError && o.Err == "" {
		o.Err = "The agent failed"
	}
	return o
}

var finishReasons = []protocol.FinishReason{
	protocol.FinishStop, protocol.FinishLength, protocol.FinishContentFilter,
	protocol.FinishToolCalls, protocol.FinishError, protocol.FinishOther,
}

// finishEvent returns the finish event and the part that ends the stream; an
// error event goes before it.
func (t *turn) finishEvent(b *batch, o Outcome) (protocol.Event, *protocol.Part) {
	reason := protocol.CutText(t.masker.Text(o.Reason), maxPhrase)
	e := protocol.Event{Type: protocol.EventFinish, FinishReason: o.FinishReason, Reason: reason, TotalUsage: t.usage(o)}
	switch {
	case o.FinishReason == protocol.FinishError:
		message := protocol.CutText(t.masker.Text(o.Err), maxPhrase)
		b.event(t.rec.ID, protocol.Event{Type: protocol.EventError, Message: message, Code: reason}, nil, false)
		return e, &protocol.Part{Type: protocol.PartError, Error: b.encode(message)}
	case reason == protocol.ReasonAborted:
		return e, &protocol.Part{Type: protocol.PartAbort, Reason: reason}
	}
	usage := e.TotalUsage
	if usage == nil {
		usage = json.RawMessage("{}") // AI SDK readers look into it without asking
	}
	return e, &protocol.Part{Type: protocol.PartFinish, FinishReason: o.FinishReason, RawFinishReason: reason, TotalUsage: usage}
}

// usage is a JSON object or nil.
func (t *turn) usage(o Outcome) json.RawMessage {
	usage := t.masker.Value(o.Usage, "")
	if len(usage) == 0 || usage[0] != '{' || len(usage) > maxPhrase {
		return nil
	}
	return usage
}
