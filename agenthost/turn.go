package agenthost

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// How long an agent that is to stop may take beyond what Agent.Interrupt itself
// takes.
const (
	interruptLimit = 10 * time.Second
	stopGrace      = 2 * time.Second
	abandonAfter   = 5 * time.Second
	fetchLimit     = 30 * time.Second // for the commits of a turn
)

// turn is the open turn as it runs: its goroutine, its agent and the masks of its
// output. Members without a comment never change.
type turn struct {
	s       *session
	id      string
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed when its finish is durable
	masker  stream.Masker
	scrub   [2]stream.Scrubber // by core.BlockKind, behind the session's lock
	agent   Agent              // once it runs, behind the session's lock
	back    chan struct{}      // closed when answers are no longer held; nil: they are not; behind the lock
	spawned bool               // behind the lock
}

func (s *session) newTurn(id string) *turn {
	t := &turn{s: s, id: id, done: make(chan struct{}), masker: stream.NewMasker(s.secrets())}
	t.ctx, t.cancel = context.WithCancel(s.host.work)
	t.scrub = [2]stream.Scrubber{stream.NewScrubber(t.masker), stream.NewScrubber(t.masker)}
	return t
}

// held is the text that the masks hold back. A nil turn holds none.
func (t *turn) held() (h core.Held) {
	if t == nil {
		return h
	}
	text, reasoning := t.scrub[core.TextBlock], t.scrub[core.ReasoningBlock]
	return core.Held{Text: text.Flush(), Reasoning: reasoning.Flush()}
}

// flushed forgets held text that a step has published.
func (t *turn) flushed(kinds [2]bool) {
	for kind, yes := range kinds {
		if yes && t != nil {
			t.scrub[kind].Flush()
		}
	}
}

// startAgent makes the turn that has just been opened run.
func (s *session) startAgent(e core.StartAgent) {
	readers := s.entering[e.TurnID]
	delete(s.entering, e.TurnID)
	s.stream.BeginTurn(readers, s.state.Turn.Record.FirstOffset)
	t := s.newTurn(e.TurnID)
	s.turn = t
	failpoint.Hit("turn-started")
	t.spawned = s.host.spawn(func() { t.run(e.Prompt) })
}

// endTurn lets go of a turn whose finish is durable.
func (s *session) endTurn() {
	s.stream.EndTurn()
	if s.turn != nil {
		close(s.turn.done)
		s.turn.cancel()
		s.turn = nil
	}
}

// run is the turn's goroutine.
func (t *turn) run(prompt Prompt) {
	outcome, err := t.play(prompt)
	if err != nil {
		t.s.host.opts.Log.Warn("a turn could not begin", "session", t.s.id, "turn", t.id, "error", err)
		outcome = Outcome{FinishReason: protocol.FinishError, Err: explain(err)}
	}
	t.fetchCommits()
	if t.end(outcome) { // otherwise the goroutine that ended it starts the next, once the agent is closed
		prompts{t.s}.advanceQueue()
	}
}

// fetchCommits brings what the agent committed into the project before the turn
// ends. A failure is logged: the next turn tries again.
func (t *turn) fetchCommits() {
	fetcher, ok := t.s.host.opts.Workspaces.(WorkspaceFetcher)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(t.s.host.work, fetchLimit)
	defer cancel()
	t.s.mu.Lock()
	project := t.s.state.Record.Project
	t.s.mu.Unlock()
	if err := fetcher.Fetch(ctx, t.s.id, project); err != nil {
		t.s.host.opts.Log.Warn("a session's commits could not be fetched", "session", t.s.id, "turn", t.id, "error", err)
	}
}

// play lets the agent work. A provider that panics ends this turn and no other.
func (t *turn) play(prompt Prompt) (outcome Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.s.host.opts.Log.Error("a provider panicked", "session", t.s.id, "turn", t.id, "panic", t.masker.Text(fmt.Sprint(p)), "stack", string(debug.Stack()))
			outcome, err = Outcome{FinishReason: protocol.FinishError, Err: "The agent's provider failed"}, nil
		}
	}()
	agent, of, err := t.s.agent.open(t.ctx)
	if err != nil {
		return Outcome{}, err
	}
	of.TurnID = t.id
	t.s.mu.Lock()
	t.agent = agent
	_, refused := t.s.apply(of)
	stopped := refused != nil || t.s.state.Stopping(t.id)
	t.s.mu.Unlock()
	if stopped {
		return Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}, nil
	}
	return agent.Run(t.ctx, prompt, &output{t})
}

// end journals the turn's finish. While that cannot be written (a full disk) the
// turn stays open and end tries again, because a turn without a durable finish would
// stay open at the broker for ever. It reports whether this call ended the turn.
func (t *turn) end(outcome Outcome) bool {
	defer t.cancel()
	in := core.AgentEnded{TurnID: t.id, Outcome: t.clean(outcome)}
	wait := 100 * time.Millisecond
	for {
		ended, err := t.tryEnd(in)
		if err == nil {
			return ended
		}
		t.s.host.opts.Log.Error("a turn's finish could not be written", "session", t.s.id, "turn", t.id, "error", err)
		select {
		case <-t.s.host.posting.Done(): // the next start will write it
			return false
		case <-time.After(wait):
		}
		wait = min(wait*2, 5*time.Second)
	}
}

func (t *turn) tryEnd(in core.AgentEnded) (ended bool, err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.s.turn != t {
		return false, nil
	}
	in.Others = t.s.host.activity.Now(t.s.state.Record.Dir)
	_, err = t.s.apply(in)
	return err == nil, err
}

// clean masks an outcome.
func (t *turn) clean(o Outcome) Outcome {
	o.Reason, o.Err = t.masker.Text(o.Reason), t.masker.Text(o.Err)
	o.FinishReason = protocol.FinishReason(t.masker.Text(string(o.FinishReason)))
	if len(o.Usage) == 0 { // empty JSON could not be recorded
		o.Usage = nil
	} else {
		o.Usage = t.masker.Value(o.Usage, "")
	}
	return o
}

// Interrupt stops the open turn and returns when it has stopped and its finish is
// durable; an idle session is no error. The turn is stopped even if ctx ends.
func (h *Host) Interrupt(ctx context.Context, sessionID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	return s.stopTurn(ctx, protocol.ReasonAborted)
}

// BeginInterrupt is Interrupt without waiting for the end of the turn.
func (h *Host) BeginInterrupt(sessionID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt(protocol.ReasonAborted)
	return nil
}

func (s *session) stopTurn(ctx context.Context, reason string) error {
	s.mu.Lock()
	t := s.turn
	if s.state.Turn != nil {
		s.interrupt(reason)
	}
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// interrupt starts to stop the open turn. It does so too when its questions cannot be
// closed durably.
func (s *session) interrupt(reason string) {
	_, err := s.apply(core.Interrupted{Reason: reason})
	if lost := (unwritten{}); errors.As(err, &lost) {
		s.failTurn(lost.error, reason)
	}
}

// halt stops the agent: with its own means, then by ending its context. An agent that
// ignores both is left behind.
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

// Start starts the turn of a grant and streams it. A turn that was started before
// is replayed and attached to, with any prompt. CodeBusy: another turn is open;
// CodeNoTurn: this grant can start nothing; CodePromptMismatch; CodeStorageFull.
func (h *Host) Start(ctx context.Context, g Grant, req *protocol.PromptRequest) (*Stream, error) {
	return h.StartAfter(ctx, g, req, "")
}

// StartAfter is Start for a client that repeats its request after a cut. If the turn has
// started and the frame with the id cursor belongs to it, the stream continues there. A
// nil Stream means that the turn is over and the client has all of it.
func (h *Host) StartAfter(ctx context.Context, g Grant, req *protocol.PromptRequest, cursor string) (*Stream, error) {
	if err := checkWhenBusy(req.WhenBusy); err != nil {
		return nil, err
	}
	if g.Attach {
		return nil, core.ErrReadOnly()
	}
	s, err := h.session(g.SessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Deleted {
		return nil, errSessionNotFound()
	}
	switch s.state.Place(g.TurnID) {
	case core.PlaceQueued:
		return prompts{s}.waiting(g.TurnID, &Stream{TurnID: g.TurnID, Live: s.entering[g.TurnID].Subscribe()})
	case core.PlaceOpen:
		return readers{s}.resume(ctx, &s.state.Turn.Record, cursor)
	case core.PlaceGone:
		return readers{s}.replayFinished(ctx, g.TurnID, cursor)
	}
	return prompts{s}.prompt(ctx, core.Prompted{TurnID: g.TurnID, Request: *req})
}

func checkWhenBusy(what string) error {
	switch what {
	case "", protocol.WhenBusyReject, protocol.WhenBusyQueue, protocol.WhenBusyInterrupt:
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalid, `whenBusy must be "reject", "queue" or "interrupt"`)
}

// prompts are the turns of a session that are about to start, or wait.
type prompts struct{ *session }

// prompt starts or queues a turn. Its reader joins before that: it misses nothing.
func (s prompts) prompt(ctx context.Context, in core.Prompted) (*Stream, error) {
	if in.New = in.TurnID == ""; in.New {
		in.TurnID = protocol.NewID()
	}
	instructions, err := s.instructions(ctx)
	if err != nil {
		return nil, err
	}
	in.Instructions, in.HostStopping = instructions, s.host.in(draining, stopped)
	in.Kept = protocol.CutText(stream.NewMasker(s.secrets()).Text(protocol.SanitizeText(in.Request.Prompt)), protocol.MaxMessage)
	reader := s.addPrompt(in.TurnID)
	if _, err := s.apply(in); err != nil {
		delete(s.entering, in.TurnID)
		reader.Close()
		return nil, err
	}
	if s.state.Place(in.TurnID) == core.PlaceQueued {
		return s.waiting(in.TurnID, reader)
	}
	if s.turn != nil && s.turn.id == in.TurnID && !s.turn.spawned { // the next start of the host ends it
		reader.Close()
		return nil, core.ErrStopping()
	}
	return reader, nil
}

// waiting puts the place in the queue before what a reader of a queued turn gets.
func (s prompts) waiting(turnID string, reader *Stream) (*Stream, error) {
	data, err := protocol.Marshal(map[string]any{"turnId": turnID, "position": s.state.Position(turnID)})
	if err == nil {
		data, err = protocol.Marshal(&protocol.Part{Type: protocol.PartDataQueued, Data: data})
	}
	if err != nil {
		reader.Close()
		return nil, err
	}
	reader.Backlog = [][]byte{stream.Encode("", data)}
	return reader, nil
}

// instructions returns what goes before the first prompt of a headless session, "" if
// the next prompt is not the first.
func (s prompts) instructions(ctx context.Context) (string, error) {
	if !s.state.Headless() {
		return "", nil
	}
	turns, err := s.host.opts.Journal.TurnsFrom(ctx, s.id, -1)
	if err != nil || len(turns) > 0 {
		return "", err
	}
	events, err := s.host.opts.Journal.Events(ctx, s.id, s.state.Record.Cursor.Epoch, 0, 1)
	if err != nil || len(events) == 0 || events[0].Type != core.EventInstructions {
		return "", err
	}
	e, err := events[0].Event()
	if err != nil || e.Text == nil {
		return "", err
	}
	return *e.Text, nil
}

// advanceQueue starts the next turn that waits. Those that can no longer start end.
func (s prompts) advanceQueue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.state.Deleted && s.state.Turn == nil && len(s.state.Queue) > 0 {
		next := s.state.Queue[0].Record.ID
		instructions, err := s.instructions(s.host.work)
		if err == nil {
			_, err = s.apply(core.QueueAdvanced{Instructions: instructions, HostStopping: s.host.in(draining, stopped)})
		}
		if err != nil {
			s.host.opts.Log.Warn("a queued turn could not start", "session", s.id, "turn", next, "error", err)
			s.dropQueued()
		}
	}
}

// dropQueue gives up the turns that wait.
func (s prompts) dropQueue() {
	for len(s.state.Queue) > 0 && !s.state.Deleted {
		s.dropQueued()
	}
}

func (s prompts) dropQueued() {
	next := s.state.Queue[0].Record.ID
	if _, err := s.apply(core.QueueDropped{}); err != nil {
		s.host.opts.Log.Error("a turn that was not started could not be closed; the next start closes it", "session", s.id, "turn", next, "error", err)
		_, _ = s.apply(core.QueueDropped{Unwritten: true}) // it writes nothing
	}
}
