package opencode

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// trailing is how long a failed turn waits for its final message: OpenCode reports
// idle, then ends its message, then reports idle again.
const trailing = time.Second

// turn maps the program's events to an Output. Only the goroutine of Run calls its
// methods, except for those of question.go and halt.go whose comments allow more.
type turn struct {
	*stdio.Turn
	agent   *agent
	program *program // set by prepare
	id      string   // the session's id in the program
	since   int64    // ms; older messages belong to other turns

	events    chan incoming
	asked     map[string]bool // ids of all requests, decided or not
	undecided *undecided

	sessions map[string]bool   // true for the turn's session and its sub-agents; false for others
	titles   map[string]string // of sub-agents
	messages map[string]*messageInfo
	parts    map[string]*textPart
	openPart string // the part whose text block is open
	calls    map[toolRef]*call
	callIDs  map[string]bool
	spent    map[string]step // by part
	context  int64           // tokens in the session's context after its newest step

	sent     *sent // set by prepare
	accepted bool  // the session has the prompt
	last     *messageInfo
	finish   string // reason of the last step's end
	failure  *failure
	lost     bool // the event stream is disconnected
	behind   bool // some events were missed
	quiet    *time.Timer
}

func newTurn(t *stdio.Turn, a *agent) *turn {
	return &turn{
		Turn: t, agent: a,
		events: make(chan incoming), asked: map[string]bool{}, undecided: newUndecided(),
		sessions: map[string]bool{}, titles: map[string]string{},
		messages: map[string]*messageInfo{}, parts: map[string]*textPart{},
		calls: map[toolRef]*call{}, callIDs: map[string]bool{}, spent: map[string]step{},
	}
}

// prepare starts the program, finds or creates the session and sends the prompt.
// After its error the turn counts as not begun.
func (t *turn) prepare(ctx context.Context, prompt agenthost.Prompt) error {
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
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if run, ok := t.command(prompt, body); ok {
		t.sent = p.send(id, "/command", run)
	} else {
		t.sent = p.send(id, "/message", body)
	}
	return nil
}

// body returns the prompt in OpenCode's format. If the session is new, the restored
// context comes first.
func (t *turn) body(ctx context.Context, prompt agenthost.Prompt, fresh bool) (promptBody, error) {
	t.agent.mu.Lock()
	announced := t.agent.announced || t.agent.spec.AgentSessionID == t.id
	t.agent.mu.Unlock()
	if !announced {
		if err := t.Out.SetAgentSessionID(t.id); err != nil {
			return promptBody{}, err
		}
		t.agent.mu.Lock()
		t.agent.announced = true
		t.agent.mu.Unlock()
	}
	restored := ""
	if fresh {
		var err error
		if restored, err = t.Out.Restored(ctx); err != nil {
			return promptBody{}, err
		}
	}
	text := stdio.Join(restored, prompt.Text)
	body := promptBody{Model: t.program.config.model, Parts: []promptPart{{Type: partText, Text: text}}}
	for i := range prompt.Attachments {
		body.Parts = append(body.Parts, attachmentPart(&prompt.Attachments[i], i+1))
	}
	return body, nil
}

// attachmentPart returns an attachment as a part of a prompt. A text is no file, because models refuse most types of
// text as files.
func attachmentPart(a *protocol.Attachment, number int) promptPart {
	if text, ok := a.Text(); ok {
		return promptPart{Type: partText, Text: stdio.Document(a, text)}
	}
	kind := cmp.Or(a.MediaType, "image/png")
	name := cmp.Or(a.Name, fmt.Sprintf("attachment-%d", number))
	return promptPart{Type: partFile, Mime: kind, Filename: name, URL: "data:" + kind + ";base64," + a.Data}
}

// play runs the turn until it is over.
func (t *turn) play(ctx context.Context) agenthost.Outcome {
	t.quiet = time.NewTimer(t.agent.options.Quiet)
	defer t.quiet.Stop()
	answer := t.sent.answer
	for {
		var outcome *agenthost.Outcome
		var err error
		select {
		case in := <-t.events:
			t.quiet.Reset(t.agent.options.Quiet)
			outcome, err = t.handle(ctx, in)
		case <-t.quiet.C:
			t.quiet.Reset(t.agent.options.Quiet)
			outcome, err = t.look(ctx)
		case <-answer:
			if answer = nil; t.sent.err != nil { // events may still be on their way
				t.quiet.Reset(soon)
			}
		case err = <-t.Failed():
		case <-t.Interrupted():
			return t.abort(ctx, nil)
		case <-ctx.Done():
			return t.abort(ctx, ctx.Err())
		case <-t.program.server.Done():
			return t.exited()
		}
		switch {
		case err != nil && t.program.ended():
			return t.exited()
		case err != nil:
			return t.abort(ctx, err)
		case outcome != nil:
			return t.closeOut(*outcome)
		}
	}
}

// handle maps one event. An outcome ends the turn.
func (t *turn) handle(ctx context.Context, in incoming) (*agenthost.Outcome, error) {
	switch in.link {
	case linkLost:
		t.lost, t.behind = true, true
		return nil, t.Out.Checking(true)
	case linkBack:
		t.lost = false
		return t.reread(ctx)
	}
	if !handled[in.event.Type] {
		return nil, nil
	}
	p, ok := decode[properties](in.event.Properties)
	if !ok {
		t.Log.Warn("agent sent an unusable event", "agent", t.agent.Name, "type", in.event.Type)
		return nil, nil
	}
	switch in.event.Type {
	case eventSessionCreated:
		if s, ok := decode[session](p.Info); ok && s.ID != t.id && t.sessions[s.ParentID] {
			t.sessions[s.ID], t.titles[s.ID] = true, s.Title
		}
		return nil, nil
	case eventSessionStatus, eventSessionIdle, eventSessionError:
		return t.state(ctx, in.event.Type, p)
	case eventPermissionAsked, eventPermissionReplied, eventQuestionAsked, eventQuestionReplied, eventQuestionRejected:
		return nil, t.request(ctx, in.event, p)
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

// ours reports whether the session is the turn's or one of its sub-agents'. For a
// session of an earlier turn it asks the program.
func (t *turn) ours(ctx context.Context, id string) bool { return t.descends(ctx, id, maxParents) }

// maxParents bounds how far the parents of a session are followed: the program can name them without end.
const maxParents = 32

func (t *turn) descends(ctx context.Context, id string, parents int) bool {
	if known, seen := t.sessions[id]; seen || id == "" || parents == 0 {
		return known
	}
	found, err := t.program.client.session(ctx, id)
	if err != nil {
		return false
	}
	t.sessions[id] = found.ParentID != "" && t.descends(ctx, found.ParentID, parents-1)
	t.titles[id] = found.Title
	return t.sessions[id]
}

// state handles the session's status. Busy has no meaning, because OpenCode also
// reports it before idle. The first idle after the turn opened ends the turn.
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
		// An error before the prompt belongs to an earlier turn.
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

// idle ends the turn. After a failure OpenCode reports idle before it sends its final
// message; idle waits for that.
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

// linger handles the events of the last message until it has ended.
func (t *turn) linger(ctx context.Context) error {
	limit := time.NewTimer(trailing)
	defer limit.Stop()
	for !over(t.last) {
		select {
		case in := <-t.events:
			switch in.event.Type {
			case eventMessageUpdated, eventPartUpdated:
				if _, err := t.handle(ctx, in); err != nil {
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

// retry shows that the model fails, and ends the turn after too many attempts.
func (t *turn) retry(ctx context.Context, s status) (*agenthost.Outcome, error) {
	o := t.agent.options
	wait := time.UnixMilli(s.Next).Sub(o.Now())
	if s.Attempt <= o.Retries && wait <= o.RetryWait {
		t.Out.Notice("warning", fmt.Sprintf("The model could not be reached, attempt %d: %s", s.Attempt, s.Message))
		return nil, nil
	}
	t.abort(ctx, nil)
	return stdio.Failure(
		fmt.Sprintf("The model could not be reached, given up after %d attempts: %s", s.Attempt, s.Message),
	), nil
}
