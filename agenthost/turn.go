package agenthost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/targets"
	"bellhop/internal/failpoint"
	"bellhop/internal/masking"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

const fetchLimit = 30 * time.Second // for the commits of a turn

// turn is the open turn as it runs: its goroutine, its agent and the masks of its
// output. Members without a comment never change.
type turn struct {
	s       *session
	id      string
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed when its finish is durable
	masker  masking.Masker
	scrub   [2]masking.Scrubber // by core.BlockKind, behind the session's lock
	agent   Agent               // once it runs, behind the session's lock
	back    chan struct{}       // closed when the agent's connection is back; nil unless it is lost; behind the lock
	spawned bool                // its goroutine was started: false while the host stops; behind the lock
	targets targets.Asked       // of the network

	observed observe.Running // reports the turn's end to the observer
}

func (s *session) newTurn(id string) *turn {
	t := &turn{s: s, id: id, done: make(chan struct{}), masker: masking.New(s.secrets())}
	ctx, observed := observe.Begin(s.traces.Start(s.host.work, id), s.host.opts.Observer,
		observe.Start{Operation: observe.Turn, Name: s.state.Record.Agent})
	s.traces.Started(ctx)
	t.observed = observed
	t.ctx, t.cancel = context.WithCancel(ctx)
	t.scrub = [2]masking.Scrubber{masking.NewScrubber(t.masker), masking.NewScrubber(t.masker)}
	return t
}

// held returns the text that the masks hold back. A nil turn holds none.
func (t *turn) held() (h core.Held) {
	if t == nil {
		return h
	}
	text, reasoning := t.scrub[core.TextBlock], t.scrub[core.ReasoningBlock]
	return core.Held{Text: text.Flush(), Reasoning: reasoning.Flush()}
}

// dropHeld drops the held text of the block kinds whose text a step has published.
func (t *turn) dropHeld(kinds [2]bool) {
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

// endTurn removes the open turn from the session, once its finish is durable.
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
	outcome, err := t.runAgent(prompt)
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

// runAgent opens the agent and runs it. A provider that panics ends this turn and no other.
func (t *turn) runAgent(prompt Prompt) (outcome Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.s.host.opts.Log.Error("a provider panicked",
				"session", t.s.id, "turn", t.id, "panic", t.masker.Text(fmt.Sprint(p)), "stack", string(debug.Stack()))
			outcome, err = Outcome{FinishReason: protocol.FinishError, Err: "The agent's provider failed"}, nil
		}
	}()
	aborted := Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
	if t.stopping() { // before its prompt came
		return aborted, nil
	}
	agent, started, err := t.s.agent.open(t.ctx)
	if err != nil {
		return Outcome{}, err
	}
	started.TurnID = t.id
	t.s.mu.Lock()
	t.agent = agent
	_, refused := t.s.apply(started)
	stopped := refused != nil || t.s.state.Stopping(t.id)
	t.s.mu.Unlock()
	if stopped {
		return aborted, nil
	}
	if failpoint.MutatedOnce("prompt-lost", 10) {
		return Outcome{FinishReason: protocol.FinishStop}, nil
	}
	if failpoint.MutatedOnce("prompt-repeated", 10) {
		_, _ = agent.Run(t.ctx, prompt, &output{t})
	}
	return agent.Run(t.ctx, prompt, &output{t})
}

func (t *turn) stopping() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.s.state.Stopping(t.id)
}

// end journals the turn's finish. While that cannot be written (a full disk) the
// turn stays open and end tries again, because a turn without a durable finish would
// stay open at the broker for ever. It reports whether this call ended the turn.
func (t *turn) end(outcome Outcome) bool {
	defer t.cancel()
	in := core.AgentEnded{TurnID: t.id, Outcome: t.clean(outcome)}
	wait := firstWait
	for {
		ended, err := t.tryEnd(in)
		if err == nil {
			return ended
		}
		t.s.host.opts.Log.Error("a turn's finish could not be written", "session", t.s.id, "turn", t.id, "error", err)
		if !t.s.host.waitToWrite(&wait) { // the next start will write it
			return false
		}
	}
}

const (
	firstWait   = 100 * time.Millisecond // before a step that could not be written is tried again
	longestWait = 5 * time.Second
)

// waitToWrite waits before a step is tried again, each time longer. It returns false if the host ends.
func (h *Host) waitToWrite(wait *time.Duration) bool {
	select {
	case <-h.posting.Done():
		return false
	case <-time.After(*wait):
	}
	*wait = min(*wait*2, longestWait)
	return true
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
// durable; an idle session is no error. The turn is stopped even if ctx ends. If only an
// announced turn exists, Interrupt returns when it is durable that this turn ends as soon
// as its prompt comes. With a turnID it stops that turn alone. CodeStorageFull and others: that
// could not be written.
func (h *Host) Interrupt(ctx context.Context, sessionID, turnID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	t := s.turn
	err = s.interruptByUser(turnID)
	s.mu.Unlock()
	if err != nil || t != nil && turnID != "" && turnID != t.id {
		return err
	}
	return t.wait(ctx)
}

// BeginInterrupt is Interrupt without waiting for the end of the turn.
func (h *Host) BeginInterrupt(sessionID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interruptByUser("")
}

// stopTurn stops the open turn, waits for its end and returns its id, which is empty if none was open.
func (s *session) stopTurn(ctx context.Context, reason string) (turnID string, err error) {
	s.mu.Lock()
	t, turnID := s.beginStop(reason)
	s.mu.Unlock()
	return turnID, t.wait(ctx)
}

// beginStop starts to stop the open turn, and returns it with its id; nil if there is none. The caller holds the lock.
func (s *session) beginStop(reason string) (t *turn, turnID string) {
	t, turnID = s.turn, s.state.OpenTurn()
	if s.state.Turn != nil {
		s.interrupt(reason)
	}
	return t, turnID
}

// wait returns when the turn's finish is durable, at once for nil.
func (t *turn) wait(ctx context.Context) error {
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

// interrupt starts to stop the open turn. If the end of its questions cannot be written to
// the journal, it stops the turn nevertheless.
func (s *session) interrupt(reason string) {
	_ = s.stopBy(core.Interrupted{Reason: reason}) // it writes only for an open turn
}

// interruptByUser is interrupt for one turn, or for whichever it is, also for an announced one.
func (s *session) interruptByUser(turnID string) error {
	return s.stopBy(core.Interrupted{Reason: protocol.ReasonAborted, TurnID: turnID, Announced: true})
}

func (s *session) stopBy(in core.Interrupted) error {
	_, err := s.apply(in)
	lost := unwritten{}
	if errors.As(err, &lost) && s.turn != nil && (in.TurnID == "" || in.TurnID == s.turn.id) {
		s.failTurn(lost.error, in.Reason)
		return nil
	}
	return err
}

// Restart ends the session's agent program. The next turn starts another, which continues
// the agent's own conversation; a program with a terminal client starts again at once. An
// open turn ends with ReasonAgentRestarted, and turns that wait begin afterwards. It
// returns the turn that it ended, "" for none. CodeNotFound: no such session.
func (h *Host) Restart(ctx context.Context, sessionID string) (endedTurn string, err error) {
	s, err := h.session(sessionID)
	if err != nil {
		return "", err
	}
	if h.in(draining, stopped) {
		return "", core.ErrStopping()
	}
	return s.agent.restart(ctx)
}

// restart holds the gate, so that no turn starts a program before the old one has ended.
func (a *agentSlot) restart(ctx context.Context) (endedTurn string, err error) {
	if err := a.gate.lockUntil(ctx); err != nil {
		return "", err
	}
	defer a.gate.unlock()
	endedTurn, err = a.s.stopTurn(ctx, protocol.ReasonAgentRestarted)
	if err != nil {
		return endedTurn, err
	}
	agent, ok := a.agent.(RestartingAgent)
	if !ok {
		a.closeLocked()
		return endedTurn, nil
	}
	if err := agent.Restart(ctx); err != nil {
		a.closeLocked() // the next turn opens another
		return endedTurn, fmt.Errorf("restart the agent: %w", err)
	}
	return endedTurn, nil
}

// StoppedSession is a session whose agent StopProject ended.
type StoppedSession struct {
	SessionID string `json:"sessionId"`
	EndedTurn string `json:"endedTurn"` // "" if none was open
}

// StopProject ends the agents of all sessions of a project and gives up their turns, open
// and waiting: these end with ReasonAgentStopped. A later prompt starts an agent again. It
// returns the sessions that had an agent or a turn, by id.
func (h *Host) StopProject(ctx context.Context, project string) ([]StoppedSession, error) {
	if project == "" {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "project is required",
			Hint: "Name one of the projects of the host's configuration",
		}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	out, failures := []StoppedSession{}, []error(nil)
	for _, s := range h.all() {
		if !s.worksOn(project) {
			continue
		}
		group.Go(func() {
			turn, err := s.agent.end(ctx, protocol.ReasonAgentStopped)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures = append(failures, fmt.Errorf("session %s: %w", s.id, err))
				return
			}
			out = append(out, StoppedSession{s.id, turn})
		})
	}
	group.Wait()
	slices.SortFunc(out, func(a, b StoppedSession) int { return cmp.Compare(a.SessionID, b.SessionID) })
	return out, errors.Join(failures...)
}

// worksOn reports whether the session is of the project, and has an agent or a turn. A turn has no
// agent while it opens one, and if that has failed, until it ends.
func (s *session) worksOn(project string) bool {
	hasAgent := !s.agent.closed()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Record.Project == project && (hasAgent || s.state.Turn != nil || len(s.state.Queue) > 0)
}

// end gives up the turns of the session and closes its agent.
func (a *agentSlot) end(ctx context.Context, reason string) (endedTurn string, err error) {
	if err := a.gate.lockUntil(ctx); err != nil {
		return "", err
	}
	defer a.gate.unlock()
	a.s.mu.Lock()
	prompts{a.s}.dropQueue()
	t, endedTurn := a.s.beginStop(reason) // at once: a turn that ends between the two would not be named
	a.s.mu.Unlock()
	if err = t.wait(ctx); err == nil {
		a.closeLocked()
	}
	return endedTurn, err
}
