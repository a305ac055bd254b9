package agenthost

import (
	"context"
	"errors"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/agenthost/stream"
	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// effects runs the effects of a session's steps.
type effects struct{ *session }

// act runs one effect of a step. The session's lock is held; what takes time goes to
// a goroutine.
func (s effects) act(effect core.Effect) {
	switch e := effect.(type) {
	case core.StartAgent:
		s.startAgent(e)
	case core.StopAgent:
		agent := s.turn.agent
		t := s.turn
		s.host.spawn(func() { t.halt(agent) })
	case core.CancelAgent:
		s.turn.cancel()
	case core.Interrupt:
		s.interrupt(e.Reason)
	case core.EndTurn:
		failpoint.Hit("finish-journaled")
		s.endTurn()
	case core.HoldAnswers, core.Await, core.Reply, core.QuestionClosed:
		s.actOnQuestion(effect)
	case core.CutStreams:
		s.stream.Cut()
		for _, readers := range s.entering {
			readers.Cut()
		}
	case core.ForgetFrames:
		s.stream.Forget()
	case core.EndQueued:
		s.endQueued(e.TurnID)
	case core.SetTimer:
		stopTimer(&s.timers[e.Name])
		s.timers[e.Name] = s.timer(e)
	case core.StopTimer:
		stopTimer(&s.timers[e.Name])
	case core.Warn:
		attrs := append([]any{"session", s.id}, e.Attrs...)
		s.host.opts.Log.Warn(e.Message, attrs...) //nolint:sloglint // the core names constants
	default:
		s.actOnDelivery(effect)
	}
}

const (
	interruptLimit = 10 * time.Second // for Agent.Interrupt
	stopGrace      = 2 * time.Second  // from the return of Agent.Interrupt to the end of the agent's context
	abandonAfter   = 5 * time.Second  // from there until the agent is abandoned
)

// halt stops the agent by Agent.Interrupt, then by ending its context. It abandons an agent
// that ignores both.
func (t *turn) halt(agent Agent) {
	if agent != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.s.host.work), interruptLimit)
		if err := agent.Interrupt(ctx); err != nil {
			t.s.host.opts.Log.Warn("an agent could not be interrupted", "session", t.s.id, "turn", t.id, "error", err)
		}
		cancel()
		if t.ended(stopGrace) {
			return
		}
	}
	t.cancel()
	if t.ended(abandonAfter) {
		return
	}
	t.s.host.opts.Log.Error("an agent does not stop and is left behind", "session", t.s.id, "turn", t.id)
	if !t.end(Outcome{}) { // it has ended after all, and another turn may have its agent already
		return
	}
	t.s.agent.close()
	prompts{t.s}.advanceQueue()
}

func (t *turn) ended(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-t.done:
		return true
	case <-timer.C:
		return false
	}
}

func (s effects) actOnDelivery(effect core.Effect) {
	switch e := effect.(type) {
	case core.Post:
		if e.Nudge && s.posting { // without a waiting goroutine, a nudge would cut short a later backoff
			select {
			case s.nudges <- struct{}{}:
			default:
			}
		}
		s.wakeDelivery()
	case core.Retry:
		s.wait = e.After
		if e.Why != "" {
			s.host.opts.Log.Warn("events could not be delivered",
				"session", s.id, "why", e.Why, "error", e.Cause, "again_in", e.After)
		}
	case core.CountPending:
		s.countPending()
	case core.ShareIncarnation:
		s.host.share(s.state.Record.BrokerID, e.ID)
	case core.ReadPending:
		rows, err := s.host.opts.Journal.Pending(s.host.posting, s.id, s.state.Record.Acked, -1)
		if err != nil {
			// This input writes no rows.
			_, _ = s.apply(core.DeliveryFailed{What: "the journal cannot be read", Cause: err.Error()})
			return
		}
		s.deliver(core.PendingRead{Version: e.Version, Events: rows})
	}
}

// countPending corrects the number of unacknowledged events after the position has
// moved.
func (s effects) countPending() {
	n, err := s.host.opts.Journal.CountPending(context.WithoutCancel(s.host.work), s.id, s.state.Record.Acked)
	if err == nil {
		_, _ = s.apply(core.PendingCounted{Events: n}) // this input writes no rows
	}
}

func (s effects) actOnQuestion(effect core.Effect) {
	switch e := effect.(type) {
	case core.HoldAnswers:
		s.turn.hold(e.Hold)
	case core.Await:
		q := &question{answer: make(chan Answer, 1)}
		q.timer = time.AfterFunc(e.Timeout, func() { s.host.spawn(func() { answers(s).expire(e.InteractionID) }) })
		if s.asked == nil {
			s.asked = map[string]*question{}
		}
		s.asked[e.InteractionID] = q
	case core.QuestionClosed:
		if q := s.asked[e.InteractionID]; q != nil {
			stopTimer(&q.timer)
		}
	case core.Reply:
		if q := s.asked[e.InteractionID]; q != nil {
			q.answer <- e.Answer // it holds one, and a question gets one
		}
	}
}

// timer starts a timer that makes its input.
func (s effects) timer(e core.SetTimer) *time.Timer {
	switch e.Name {
	case core.TimerAnnounced:
		in := core.AnnouncementExpired{TurnID: s.state.Announced.ID, Expires: s.state.Announced.Expires}
		return time.AfterFunc(e.After, func() { s.host.spawn(func() { s.expireAnnounced(in) }) })
	case core.TimerRenewal:
		return time.AfterFunc(e.After, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			_, _ = s.apply(core.RenewalDue{}) // this input writes no rows
		})
	default: // core.TimerIdle
		return time.AfterFunc(s.host.opts.IdleStop, func() { s.host.spawn(s.agent.stopIdle) })
	}
}

func (s effects) expireAnnounced(in core.AnnouncementExpired) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.apply(in); errors.As(err, new(unwritten)) {
		s.host.opts.Log.Error("a turn that was not started could not be closed",
			"session", s.id, "turn", in.TurnID, "error", err)
		s.timers[core.TimerAnnounced] = time.AfterFunc(time.Minute, func() { s.host.spawn(func() { s.expireAnnounced(in) }) })
	}
}

// endQueued ends the stream of a queued turn that does not start. It sends that turn's
// readers a finish without a stream id, because the session's own stream does not end.
func (s effects) endQueued(turnID string) {
	readers := s.entering[turnID]
	if readers == nil {
		return
	}
	delete(s.entering, turnID)
	end, err := protocol.Marshal(&protocol.Part{
		Type: protocol.PartFinish, FinishReason: protocol.FinishOther,
		RawFinishReason: protocol.ReasonNotStarted, TotalUsage: []byte("{}"),
	})
	if err == nil {
		readers.Publish(stream.Encode("", end))
	}
	readers.Close()
}

// wakeDelivery starts delivery when there is work for it.
func (s effects) wakeDelivery() {
	if s.posting || s.state.NextJob() == core.JobNone || !s.host.in(running, draining) {
		return
	}
	select {
	case <-s.nudges: // left over from the last delivery goroutine
	default:
	}
	s.posting = s.host.spawn(func() {
		s.host.sender.Run(s.host.posting, outgoing{s.session})
		if s.host.posting.Err() != nil {
			s.mu.Lock()
			s.posting = false
			s.mu.Unlock()
		}
	})
}

// deliver applies an input of delivery. A step that cannot be written is tried again
// after a backoff.
func (s effects) deliver(in core.Input) {
	_, err := s.apply(in)
	lost := unwritten{}
	if !errors.As(err, &lost) {
		return
	}
	if _, position := in.(core.PositionSaved); position { // the broker has everything
		s.wait = time.Minute
		return
	}
	// This input writes no rows.
	_, _ = s.apply(core.DeliveryFailed{What: "the journal cannot be written", Cause: lost.Error()})
}

// outgoing is a session as delivery uses it.
type outgoing struct{ s *session }

var _ delivery.Session = outgoing{}

func (o outgoing) Next() delivery.Order {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	order := delivery.OrderOf(&o.s.state)
	if order.Job == core.JobNone {
		o.s.posting = false
	}
	return order
}

func (o outgoing) Pending(ctx context.Context, after protocol.Cursor, limit int) ([]EventRecord, error) {
	return o.s.host.opts.Journal.Pending(ctx, o.s.id, after, limit)
}

func (o outgoing) Prompts(ctx context.Context, events []EventRecord) (map[string]protocol.TurnPrompt, error) {
	return o.s.host.promptsOf(ctx, o.s.id, events)
}

func (o outgoing) Recount() {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	effects{o.s}.countPending()
}

func (o outgoing) Apply(in core.Input) time.Duration {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.s.wait = 0
	effects{o.s}.deliver(in)
	o.s.host.changed() // Run waits for the last acknowledgement
	return o.s.wait
}

func (o outgoing) Nudges() <-chan struct{} { return o.s.nudges }

func (o outgoing) Trace() string {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	return o.s.traces.Last()
}
