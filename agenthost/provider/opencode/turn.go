package opencode

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// trailing is how long the last words of a turn that failed are waited for:
// OpenCode says idle first, then ends its message, then says idle again.
const trailing = time.Second

// turn maps what the program says to an Output. Its methods are called by the
// goroutine of Run, save those of question.go and halt.go that say so.
type turn struct {
	agent   *agent
	program *program // set by prepare
	out     agenthost.Output
	id      string // of the session in the program
	since   int64  // ms; what is older is of other turns

	said      chan heard
	failed    chan error    // an Output failed in a question
	interrupt chan struct{} // closed by stop
	stopOnce  sync.Once
	done      chan struct{} // closed when Run returns

	asking    context.Context // of the open questions
	cancel    context.CancelCauseFunc
	questions sync.WaitGroup
	pending   map[string]*pending // by request id
	expecting map[string]bool     // asked before, whatever came of it
	undecided *undecided

	sessions map[string]bool   // ours and its sub-agents'; false: of others
	titles   map[string]string // of sub-agents
	messages map[string]*messageInfo
	parts    map[string]*spoken
	openPart string // whose text block is open
	calls    map[toolRef]*call
	callIDs  map[string]bool
	order    []*call
	spent    map[string]tokens // by part

	accepted bool // the prompt is in the session
	last     *messageInfo
	finish   string // reason of the last step
	failure  *failure
	lost     bool // there is no stream of events
	behind   bool // some of it was missed
	quiet    *time.Timer
}

func newTurn(ctx context.Context, a *agent, out agenthost.Output) *turn {
	t := &turn{
		agent: a, out: out,
		said: make(chan heard), failed: make(chan error, 1),
		interrupt: make(chan struct{}), done: make(chan struct{}),
		pending: map[string]*pending{}, expecting: map[string]bool{}, undecided: newUndecided(),
		sessions: map[string]bool{}, titles: map[string]string{},
		messages: map[string]*messageInfo{}, parts: map[string]*spoken{},
		calls: map[toolRef]*call{}, callIDs: map[string]bool{}, spent: map[string]tokens{},
	}
	t.asking, t.cancel = context.WithCancelCause(ctx)
	return t
}

// stop makes the turn end soon; it may be called by anyone.
func (t *turn) stop() { t.stopOnce.Do(func() { close(t.interrupt) }) }

func (t *turn) stopped() bool {
	select {
	case <-t.interrupt:
		return true
	default:
		return false
	}
}

// withdraw ends the open questions.
func (t *turn) withdraw() {
	t.cancel(nil)
	t.questions.Wait()
}

// prepare starts the program, finds or makes the session and gives it the
// prompt. Its failure is that of a turn that never began.
func (t *turn) prepare(ctx context.Context, prompt agenthost.Prompt) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan struct{})
	defer close(ready)
	go func() {
		select {
		case <-t.interrupt:
			cancel()
		case <-ready:
		}
	}()
	p, err := t.agent.running(ctx)
	if err != nil {
		return err
	}
	t.program = p
	id, fresh, err := t.agent.resume(ctx, p)
	if err != nil {
		return err
	}
	t.id, t.sessions[id] = id, true
	body, err := t.body(ctx, prompt, fresh)
	if err != nil {
		return err
	}
	t.since = t.agent.options.Now().UnixMilli()
	if err := p.client.prompt(ctx, id, body); err != nil {
		// It may have come through all the same.
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.agent.options.Grace)
		defer cancel()
		_ = t.halt(stop)
		return fmt.Errorf("give OpenCode the prompt: %w", err)
	}
	return nil
}

// body is the prompt as OpenCode takes it, with what was said before if the
// session is a new one.
func (t *turn) body(ctx context.Context, prompt agenthost.Prompt, fresh bool) (promptBody, error) {
	t.agent.mu.Lock()
	told := t.agent.told || t.agent.spec.Native == t.id
	t.agent.mu.Unlock()
	if !told {
		if err := t.out.SetNative(t.id); err != nil {
			return promptBody{}, err
		}
		t.agent.mu.Lock()
		t.agent.told = true
		t.agent.mu.Unlock()
	}
	text := prompt.Text
	if fresh {
		before, err := t.out.Restored(ctx)
		if err != nil {
			return promptBody{}, err
		}
		if before != "" {
			text = before + "\n\n" + text
		}
	}
	body := promptBody{Model: t.program.config.model, Parts: []promptPart{{Type: partText, Text: text}}}
	for i, a := range prompt.Attachments {
		kind := a.MediaType
		if kind == "" {
			kind = "image/png"
		}
		body.Parts = append(body.Parts, promptPart{
			Type: "file", Mime: kind, Filename: fmt.Sprintf("attachment-%d", i+1), URL: "data:" + kind + ";base64," + a.Data,
		})
	}
	return body, nil
}

// play returns when the turn is over, whoever ended it.
func (t *turn) play(ctx context.Context) agenthost.Outcome {
	t.quiet = time.NewTimer(t.agent.options.Quiet)
	defer t.quiet.Stop()
	for {
		var outcome *agenthost.Outcome
		var err error
		select {
		case h := <-t.said:
			t.quiet.Reset(t.agent.options.Quiet)
			outcome, err = t.hear(ctx, h)
		case <-t.quiet.C:
			t.quiet.Reset(t.agent.options.Quiet)
			outcome, err = t.look(ctx)
		case err = <-t.failed:
		case <-t.interrupt:
			return t.end(ctx, nil)
		case <-ctx.Done():
			return t.end(ctx, ctx.Err())
		case <-t.program.server.Done():
			return t.exited()
		}
		switch {
		case err != nil && t.program.ended():
			return t.exited()
		case err != nil:
			return t.end(ctx, err)
		case outcome != nil:
			return t.whole(*outcome)
		}
	}
}

// hear maps one event; an outcome ends the turn.
func (t *turn) hear(ctx context.Context, h heard) (*agenthost.Outcome, error) {
	switch h.link {
	case linkLost:
		t.lost, t.behind = true, true
		return nil, t.out.Checking(true)
	case linkBack:
		t.lost = false
		return t.reread(ctx, true)
	}
	if !heeded[h.event.Type] {
		return nil, nil
	}
	p, ok := decode[properties](h.event.Properties)
	if !ok {
		t.agent.spec.Log.Warn("agent sent an unusable event", "agent", t.agent.options.Name, "type", h.event.Type)
		return nil, nil
	}
	switch h.event.Type {
	case eventSessionCreated:
		if s, ok := decode[session](p.Info); ok && s.ID != t.id && t.sessions[s.ParentID] {
			t.sessions[s.ID], t.titles[s.ID] = true, s.Title
		}
		return nil, nil
	case eventSessionStatus, eventSessionIdle, eventSessionError:
		return t.state(ctx, h.event.Type, p)
	case eventPermissionAsked, eventPermissionReplied, eventQuestionAsked, eventQuestionReplied, eventQuestionRejected:
		return nil, t.request(ctx, h.event, p)
	case eventMessageUpdated:
		if info, ok := decode[messageInfo](p.Info); ok && t.ours(ctx, info.SessionID) {
			t.message(&info)
		}
		return nil, nil
	case eventPartUpdated:
		if p.Part == nil || !t.ours(ctx, p.Part.SessionID) {
			return nil, nil
		}
		return nil, t.part(p.Part, false)
	case eventPartDelta:
		return nil, t.delta(p)
	}
	return nil, nil
}

// ours reports whether the session is the turn's or a sub-agent's of it; one
// that was made in an earlier turn is known to the program alone.
func (t *turn) ours(ctx context.Context, id string) bool {
	if known, seen := t.sessions[id]; seen || id == "" {
		return known
	}
	found, err := t.program.client.session(ctx, id)
	if err != nil {
		return false
	}
	t.sessions[id] = found.ParentID != "" && t.ours(ctx, found.ParentID)
	t.titles[id] = found.Title
	return t.sessions[id]
}

// state follows the session's status. Busy means nothing: it is said before idle
// too. The first idle after the turn opened is its end.
func (t *turn) state(ctx context.Context, kind string, p properties) (*agenthost.Outcome, error) {
	if !t.ours(ctx, p.SessionID) {
		return nil, nil
	}
	if kind == eventSessionStatus && p.Status.Type == statusRetry {
		return t.retry(ctx, p.Status)
	}
	if p.SessionID != t.id {
		return nil, nil
	}
	switch {
	case kind == eventSessionError:
		// One that comes before the prompt is of an earlier turn.
		if t.accepted && t.failure == nil && p.Error != nil {
			t.failure = p.Error
		}
	case kind == eventSessionIdle, p.Status.Type == statusIdle:
		if t.last != nil || t.failure != nil {
			return t.idle(ctx)
		}
	}
	return nil, nil
}

// idle ends the turn. Of one that failed the last words are still to come.
func (t *turn) idle(ctx context.Context) (*agenthost.Outcome, error) {
	if t.failure != nil && t.last != nil && !over(t.last) {
		if err := t.linger(ctx); err != nil {
			return nil, err
		}
	}
	outcome := t.outcome()
	return &outcome, nil
}

func over(m *messageInfo) bool { return m.Time.Completed > 0 || m.Error != nil }

// linger hears what belongs to the last message until it is over.
func (t *turn) linger(ctx context.Context) error {
	limit := time.NewTimer(trailing)
	defer limit.Stop()
	for !over(t.last) {
		select {
		case h := <-t.said:
			switch h.event.Type {
			case eventMessageUpdated, eventPartUpdated:
				if _, err := t.hear(ctx, h); err != nil {
					return err
				}
			}
		case <-limit.C:
			return nil
		case <-t.program.server.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// retry shows that the model fails, and ends a turn that would never end.
func (t *turn) retry(ctx context.Context, s status) (*agenthost.Outcome, error) {
	o := t.agent.options
	wait := time.UnixMilli(s.Next).Sub(o.Now())
	if s.Attempt <= o.Retries && wait <= o.RetryWait {
		t.out.Notice("warning", fmt.Sprintf("The model could not be reached, attempt %d: %s", s.Attempt, s.Message))
		return nil, nil
	}
	t.end(ctx, nil)
	return &agenthost.Outcome{
		FinishReason: protocol.FinishError,
		Err:          fmt.Sprintf("The model could not be reached, given up after %d attempts: %s", s.Attempt, s.Message),
	}, nil
}
