package agenthost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/recall"
	"bellhop/agenthost/stream"
	"bellhop/internal/masking"
	"bellhop/policy"
	"bellhop/protocol"
)

// output receives the reports of a turn's agent. It masks secrets and makes inputs of the core.
type output struct{ t *turn }

var _ Output = (*output)(nil)

func (o *output) Text(delta string) error { return o.delta(core.TextBlock, delta) }

func (o *output) Reasoning(delta string) error { return o.delta(core.ReasoningBlock, delta) }

func (o *output) delta(kind core.BlockKind, delta string) error {
	t, s := o.t, o.t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	before := t.scrub
	text := t.scrub[kind].Write(delta)
	if s.host.opts.Record == nil {
		if f, ok := s.state.Append(t.id, kind, text); ok {
			s.stream.Publish(stream.NewFrame(f.ID, f.Part, f.Boundary))
			return nil
		}
	}
	_, err := s.report(core.AgentText{TurnID: t.id, Kind: kind, Text: text})
	if err != nil {
		t.scrub = before
	}
	return err
}

func (o *output) EndText(final string) error { return o.EndMessage(final, TextAbout{}) }

func (o *output) EndMessage(final string, about TextAbout) error {
	about.Format = o.t.masker.Text(about.Format)
	if len(about.Metadata) > 0 {
		about.Metadata = o.t.masker.Value(about.Metadata, "")
		if len(about.Metadata) > core.MaxPhrase || about.Metadata[0] != '{' {
			o.Notice("warning", fmt.Sprintf("The metadata of a text is left out: it is longer than %d KiB", core.MaxPhrase>>10))
			about.Metadata = nil
		}
	}
	return o.report(core.AgentTextEnded{TurnID: o.t.id, Final: o.t.masker.Text(final), About: about})
}

func (o *output) EndReasoning() error { return o.report(core.AgentReasoningEnded{TurnID: o.t.id}) }

func (o *output) report(in core.Input) error {
	o.t.s.mu.Lock()
	defer o.t.s.mu.Unlock()
	_, err := o.t.s.report(in)
	return err
}

func (o *output) ToolCall(c ToolCall) error {
	in := core.AgentCalled{TurnID: o.t.id, Call: c}
	in.Call.Input, in.Truncated = protocol.CutValue(o.t.masker.Value(c.Input, "{}"), core.MaxValue)
	return o.report(in)
}

func (o *output) ToolResult(r ToolResult) error {
	o.t.reportUnasked(&r)
	in := core.AgentResulted{TurnID: o.t.id, Result: r}
	in.Result.Output, in.Truncated = protocol.CutValue(o.t.masker.Value(r.Output, "null"), core.MaxValue)
	return o.report(in)
}

func (o *output) Confirm(ctx context.Context, q Question) (Answer, error) {
	return o.t.ask(ctx, protocol.KindConfirm, q)
}

func (o *output) Ask(ctx context.Context, q Question) (Answer, error) {
	return o.t.ask(ctx, protocol.KindAsk, q)
}

// Notice ignores errors: a notice that cannot be shown is no reason to stop a turn.
func (o *output) Notice(level, message string) {
	_ = o.report(core.AgentNoticed{TurnID: o.t.id, Level: level, Message: o.t.masker.Text(message)})
}

func (o *output) Checking(lost bool) error {
	return o.report(core.AgentChecking{TurnID: o.t.id, Lost: lost})
}

func (o *output) SetAgentSessionID(id string) error {
	return o.report(core.AgentNamed{TurnID: o.t.id, AgentSessionID: id})
}

func (o *output) Restored(ctx context.Context) (string, error) {
	t, s := o.t, o.t.s
	s.mu.Lock()
	headless := s.state.Headless()
	s.mu.Unlock()
	text, shown, err := recall.Read(ctx, sessionJournal{s.host.opts.Journal, s.id}, t.id, headless)
	if err != nil || text == "" {
		return "", err
	}
	return text, o.report(core.AgentReminded{TurnID: t.id, Context: shown})
}

// sessionJournal is the journal of one session.
type sessionJournal struct {
	journal   Journal
	sessionID string
}

var _ recall.Journal = sessionJournal{}

func (j sessionJournal) Oldest(ctx context.Context) (*EventRecord, error) {
	rows, err := j.journal.Pending(ctx, j.sessionID, protocol.Cursor{}, 1)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

func (j sessionJournal) Newest(ctx context.Context, before protocol.Cursor, limit int) ([]EventRecord, error) {
	return j.journal.Newest(ctx, j.sessionID, before, limit)
}

func (j sessionJournal) Prompt(ctx context.Context, turnID string) (string, error) {
	return j.journal.Prompt(ctx, j.sessionID, turnID)
}

// Policy decides about tool calls; *policy.Live is one.
type Policy interface {
	Decide(call policy.Call) policy.Decision
	// Notices describe the errors of the rules; Status shows them.
	Notices() []string
}

// question is an open question whose agent waits for the answer.
type question struct {
	answer chan Answer // holds the one answer
	timer  *time.Timer
}

// ask puts a question to the user and waits.
func (t *turn) ask(ctx context.Context, kind protocol.InteractionKind, q Question) (Answer, error) {
	return t.await(ctx, core.AgentAsked{
		TurnID: t.id, Kind: kind, Question: t.cleanQuestion(q),
		Timeout: t.s.host.opts.InteractionTimeout, Ruling: t.ruling(ctx, kind, &q),
	})
}

// await opens a question and waits for its answer.
func (t *turn) await(ctx context.Context, in core.AgentAsked) (Answer, error) {
	id, waiter, answer, err := t.pose(in)
	if waiter == nil {
		return answer, err // a rule or the user's memory answered, or it failed
	}
	select {
	case a := <-waiter.answer:
		return t.whenConnected(ctx, id, a)
	case <-ctx.Done():
	case <-t.ctx.Done():
		ctx = t.ctx
	}
	return t.giveUp(ctx, id, waiter)
}

func (t *turn) cleanQuestion(q Question) Question {
	q.Prompt, q.Default, q.Warning = t.masker.Text(q.Prompt), t.masker.Text(q.Default), t.masker.Text(q.Warning)
	options := q.Options
	q.Options, q.Input = nil, nil // the policy alone reads Input, which is not masked
	for _, option := range options {
		q.Options = append(q.Options, t.masker.Text(option))
	}
	if q.Offered != nil {
		offered := *q.Offered
		offered.Lasting = slices.Clone(offered.Lasting)
		for i := range offered.Lasting {
			offered.Lasting[i].Name = t.masker.Text(offered.Lasting[i].Name)
		}
		q.Offered = &offered
	}
	if len(q.Args) > 0 {
		q.Args, _ = protocol.CutValue(t.masker.Value(q.Args, "{}"), core.MaxValue)
	}
	return q
}

// ruling returns the policy's decision about a confirm, or nil if there is no policy.
func (t *turn) ruling(ctx context.Context, kind protocol.InteractionKind, q *Question) *core.Ruling {
	rules := t.s.host.opts.Policy
	if rules == nil || kind != protocol.KindConfirm {
		return nil
	}
	t.s.mu.Lock()
	call := t.s.state.PolicyCall(q)
	t.s.mu.Unlock()
	d := t.s.decide(ctx, call)
	d.Message = t.masker.Text(d.Message)
	if t.masker.Text(d.Shape) != d.Shape { // a secret must not be journaled, and its mask would cover other values
		d.Shape = ""
	}
	return &core.Ruling{Decision: d, Timeout: d.Timeout}
}

// maxListing is how long a call of an agent waits for the list of the workspace's files that its rules need.
const maxListing = 5 * time.Second

// decide applies the policy, which there is, to a call in the session's workspace.
func (s *session) decide(ctx context.Context, call policy.Call) policy.Decision {
	if lister, ok := s.host.opts.Workspaces.(FileLister); ok {
		call.Files = func(each func(path string, isIgnored bool)) error {
			limited, cancel := context.WithTimeout(ctx, maxListing)
			defer cancel()
			err := lister.EachFile(limited, s.id, call.Project, each)
			if err != nil {
				s.host.opts.Log.Warn("cannot list the files that a call may read", "session", s.id, "error", err)
			}
			return err
		}
	}
	return s.host.opts.Policy.Decide(call)
}

// pose opens a question. If waiter is nil, a rule has answered with a, or opening failed.
func (t *turn) pose(in core.AgentAsked) (id string, waiter *question, a Answer, err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	x, err := t.s.report(in)
	if err != nil {
		return "", nil, Answer{}, err
	}
	for _, e := range x.Effects {
		switch e := e.(type) {
		case core.Await:
			id, waiter = e.InteractionID, t.s.asked[e.InteractionID]
		case core.Reply:
			a = e.Answer
		}
	}
	return id, waiter, a, nil
}

// giveUp closes a question that the agent no longer waits for.
func (t *turn) giveUp(ctx context.Context, id string, waiter *question) (Answer, error) {
	expired := errors.Is(context.Cause(ctx), ErrExpired)
	a, answered := t.takeBack(id, waiter, expired)
	switch {
	case answered && expired:
		return t.tooLate(), nil
	case answered: // it came at the same moment
		return a, nil
	case expired:
		return Answer{Expired: true, Reason: core.ReasonExpired}, nil
	default:
		return Answer{}, context.Cause(ctx)
	}
}

// takeBack removes a question's waiter. It returns the answer if that has come already; otherwise it cancels
// the question.
func (t *turn) takeBack(id string, waiter *question, expired bool) (a Answer, answered bool) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	defer delete(t.s.asked, id)
	select {
	case a = <-waiter.answer:
		return a, true
	default:
	}
	if t.ctx.Err() == nil {
		// If this fails, the turn ends, and its end closes the question.
		_, _ = t.s.report(core.QuestionCancelled{InteractionID: id, Expired: expired})
	}
	return a, false
}

// answers resolves a session's questions.
type answers struct{ *session }

func (s answers) expire(interactionID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// If this fails, the turn ends, and its end closes the question.
	_, _ = s.report(core.QuestionExpired{InteractionID: interactionID})
}

// hold(true) keeps answers back while the agent's connection is lost. hold(false) releases them.
func (t *turn) hold(yes bool) {
	if yes {
		t.back = make(chan struct{})
	} else if t.back != nil {
		close(t.back)
		t.back = nil
	}
}

// whenConnected returns an answer to the agent, once the connection to the agent is not lost.
func (t *turn) whenConnected(ctx context.Context, id string, a Answer) (Answer, error) {
	t.s.mu.Lock()
	delete(t.s.asked, id)
	back := t.back
	t.s.mu.Unlock()
	if back == nil {
		return a, nil
	}
	select {
	case <-back:
		return a, nil
	case <-ctx.Done():
	case <-t.ctx.Done():
		ctx = t.ctx
	}
	if errors.Is(context.Cause(ctx), ErrExpired) {
		return t.tooLate(), nil
	}
	return Answer{}, context.Cause(ctx)
}

// tooLate notes that an answer came when the agent no longer waited for it, and returns the outcome for the
// agent. The journal keeps the answer, because the user gave it.
func (t *turn) tooLate() Answer {
	(&output{t}).Notice("warning", "The answer came too late: the agent no longer waited for it")
	return Answer{Expired: true, Reason: core.ReasonExpired}
}

// reportUnasked reports a call that the policy denies and the agent made without
// asking. It has already happened.
func (t *turn) reportUnasked(r *ToolResult) {
	rules := t.s.host.opts.Policy
	if rules == nil {
		return
	}
	t.s.mu.Lock()
	call, unasked := t.s.state.Unasked(r)
	t.s.mu.Unlock()
	if !unasked {
		return
	}
	d := rules.Decide(call)
	if d.Action != policy.Deny {
		return
	}
	t.s.host.opts.Log.Warn("an agent made a call that the policy denies, without asking",
		"session", t.s.id, "turn", t.id, "tool", call.Tool, "rule", d.Rule)
	(&output{t}).Notice("warning",
		call.Tool+" ran without asking, and the policy denies it: "+cmp.Or(d.Message, "rule "+d.Rule))
}

// Answer answers an open question; the first answer wins. The same answer again
// is no error; another one is CodeAnswered; after its time CodeExpired.
func (h *Host) Answer(ctx context.Context, sessionID, interactionID string, req *protocol.AnswerRequest) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	if req.Remember != "" && req.Remember != protocol.RememberSession {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: `remember must be "session" or absent`}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.state.OpenQuestion(interactionID)
	if q == nil {
		return answers{s}.answeredBefore(ctx, interactionID, req)
	}
	return answers{s}.answer(interactionID, req)
}

// answer gives an open question its answer. The session's lock is held.
func (s answers) answer(interactionID string, req *protocol.AnswerRequest) error {
	in := core.Answered{
		InteractionID: interactionID, Request: *req,
		Raw: core.RawAnswer(req),
	}
	in.Request.Text, in.Request.Reason = s.turn.masker.Text(req.Text), s.turn.masker.Text(req.Reason)
	_, err := s.report(in)
	return err
}

// answeredBefore responds about a question that is no longer open.
func (s answers) answeredBefore(ctx context.Context, interactionID string, req *protocol.AnswerRequest) error {
	rec, err := s.host.opts.Journal.Interaction(ctx, s.id, interactionID)
	if err != nil {
		return err
	}
	if rec.State == protocol.InteractionExpired {
		return &protocol.Error{Code: protocol.CodeExpired, Message: "The question's time is over"}
	}
	masked := *req
	masked.Text = masking.New(s.host.opts.Secrets(s.id)).Text(req.Text)
	if core.SameAnswer(rec, &masked) {
		return nil
	}
	return &protocol.Error{Code: protocol.CodeAnswered, Message: "The question was answered otherwise"}
}

// recommendedMark ends the label of the option that a model recommends. The question tools of Claude
// Code, OpenCode and Codex describe it to their models.
const recommendedMark = "(recommended)"

// Recommended returns the label of the first option that the agent recommends, "" if there is none.
// It is the default of a question with these options.
func Recommended(options []string) string {
	i := slices.IndexFunc(options, func(label string) bool {
		return strings.HasSuffix(strings.ToLower(strings.TrimSpace(label)), recommendedMark)
	})
	if i < 0 {
		return ""
	}
	return options[i]
}
