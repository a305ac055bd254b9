package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"bellhop/policy"
	"bellhop/protocol"
)

// Reasons of answers that no user gave.
const (
	ReasonExpired     = "expired"
	reasonInterrupted = "interrupted"
	reasonTurnEnded   = "turn-ended"
	reasonCancelled   = "withdrawn"
	// ReasonPolicy is the prefix of the reason of answers that a rule gave. The rule's name follows.
	ReasonPolicy = "policy: "
)

const maxOptions = 64

// OpenQuestion returns the open question with an id, or nil.
func (s *State) OpenQuestion(id string) *InteractionRecord {
	i := slices.IndexFunc(s.Questions, func(q InteractionRecord) bool { return q.ID == id })
	if i < 0 || s.Turn == nil {
		return nil
	}
	return &s.Questions[i]
}

func (in AgentAsked) apply(x *Step) error {
	q := in.Question
	if in.Kind == protocol.KindConfirm && in.Ruling != nil {
		if err := x.turns().requireOpen(in.TurnID); err != nil {
			return err
		}
		calls := &x.turn().Calls
		calls.asked = calls.asked.with(Name(q.ToolCallID, "call"), true)
		a, answered := in.Ruling.answer(&q)
		if answered && a.Approved && !q.Offered.takes(true) { // only a person may pick a yes that lasts
			answered = false
		}
		switch {
		case answered && in.Ruling.IsRoutine() && x.State.Turn.Stop == "":
			// Agents ask about each file that they read. Nothing is stored for these questions,
			// because the call and its result are events already.
			x.effect(Reply{Answer: a})
			return nil
		case answered:
			return x.questions().answerByRule(q, a, in.Ruling.Rule)
		}
	}
	if in.Ruling == nil && q.Shape == "" && q.ToolName != "" { // without rules a yes covers the same arguments only
		q.Shape = q.ToolName + " " + string(q.Args)
	}
	if x.turns().isOpen(in.TurnID) && x.State.Turn.Stop != "" {
		return errBeingStopped()
	}
	if in.Kind == protocol.KindConfirm && q.Offered.takes(true) && x.State.remembers(&q) {
		if err := x.turns().requireOpen(in.TurnID); err != nil {
			return err
		}
		x.effect(Reply{Answer: Answer{Approved: true}})
		return nil
	}
	timeout := q.Timeout
	if timeout <= 0 {
		timeout = in.Timeout
	}
	return x.turns().report(in.TurnID, func() { x.questions().ask(in, q, timeout) })
}

func errBeingStopped() error {
	return protocol.Errorf(protocol.CodeNoTurn, "The turn is being stopped")
}

// ask opens a question.
func (x questionStep) ask(in AgentAsked, q Question, timeout time.Duration) {
	switch {
	case !in.Aside:
		x.texts().endBlocks()
	case x.State.Turn.Text.open: // a question of the host may come in the middle of a text
		x.texts().splitBlock()
	}
	t := x.State.Turn
	rec := x.interaction(in.Kind, q, timeout)
	x.event(t.Record.ID, rec.Question, x.questionPart(&rec), true)
	x.status(t.Record.ID, protocol.StatusIdle, reasonOpen(t.Lost))
	x.Rows.Interactions = append(x.Rows.Interactions, rec)
	x.State.Questions = append(slices.Clone(x.State.Questions), rec)
	x.effect(Await{InteractionID: rec.ID, Timeout: timeout})
}

func (x questionStep) interaction(kind protocol.InteractionKind, q Question, timeout time.Duration) InteractionRecord {
	e := protocol.Event{
		Type: protocol.EventInteraction, InteractionID: x.newID(), State: protocol.InteractionOpen, Kind: kind,
		Prompt:     protocol.CutText(q.Prompt, MaxPhrase),
		ToolCallID: Name(q.ToolCallID, ""),
		ToolName:   Name(q.ToolName, ""),
		Level:      Name(q.Level, ""),
		Warning:    protocol.CutText(q.Warning, MaxPhrase),
		Default:    protocol.CutText(q.Default, MaxPhrase),
		Args:       q.Args,
		ExpiresAt:  x.now.Add(timeout).Format(time.RFC3339),
	}
	if e.Prompt == "" {
		e.Prompt = defaultPrompt(e.ToolName)
	}
	options := q.Options
	if q.Offered != nil {
		options, e.Warning = q.Offered.names(), protocol.CutText(withOffer(q.Warning, q.Offered), MaxPhrase)
	}
	for _, option := range options[:min(len(options), maxOptions)] {
		e.Options = append(e.Options, protocol.CutText(option, MaxPhrase/maxOptions))
	}
	return InteractionRecord{
		SessionID: x.State.ID, ID: e.InteractionID, TurnID: x.State.Turn.Record.ID,
		Kind: kind, State: protocol.InteractionOpen,
		Question: e, Shape: q.Shape, Offered: q.Offered, ExpiresAt: x.now.Add(timeout), CreatedAt: x.now,
	}
}

// defaultPrompt is the prompt of a confirm without one.
func defaultPrompt(tool string) string { return "Allow " + cmp.Or(tool, "this") + "?" }

// remembers reports whether the user has allowed calls of this shape for the
// session. CRITICAL calls are asked about nevertheless.
func (s *State) remembers(q *Question) bool {
	return q.Shape != "" && q.Level != string(policy.Critical) && slices.Contains(s.Record.Remembered, q.Shape)
}

// answer returns the answer to a confirm if the policy allows or denies the call.
// Otherwise it adds the policy's level, shape, timeout and warning to the question, which
// the user then answers.
func (r *Ruling) answer(q *Question) (a Answer, answered bool) {
	reported := policy.Level(q.Level)
	q.Level = string(reported.Max(r.Level))
	switch {
	case r.Action == policy.Deny:
		a.Reason = "Denied by policy: " + cmp.Or(r.Message, "rule "+r.Rule)
		return a, true
	case r.Action == policy.Allow && (!r.BuiltIn || reported != policy.Critical): // an operator's rule outranks the agent
		return Answer{Approved: true}, true
	}
	q.Shape = r.Shape
	if r.Timeout > 0 {
		q.Timeout = r.Timeout
	}
	if r.Message != "" && r.Message != q.Warning {
		q.Warning = strings.TrimPrefix(q.Warning+"\n"+r.Message, "\n")
	}
	return Answer{}, false
}

// answerByRule stores a question together with its answer. Nothing is published for it:
// readers see the call and its result.
func (x questionStep) answerByRule(q Question, a Answer, rule string) error {
	t := x.State.Turn
	if t.Stop != "" {
		return errBeingStopped()
	}
	return x.turns().report(t.Record.ID, func() {
		x.texts().endBlocks()
		rec := x.interaction(protocol.KindConfirm, q, 0)
		rec.State, rec.Answer = protocol.InteractionResolved, &protocol.InteractionAnswer{
			Approved: &a.Approved, Reason: ReasonPolicy + rule,
		}
		e := rec.Question
		e.State, e.Answer = rec.State, rec.Answer
		x.event(t.Record.ID, e, nil, true)
		x.Rows.Interactions = append(x.Rows.Interactions, rec)
		if !a.Approved {
			x.calls().notice("warning", cmp.Or(q.ToolName, "A call")+": "+a.Reason)
		}
		x.effect(Reply{Answer: a})
	})
}

func (x questionStep) questionPart(rec *InteractionRecord) *protocol.Part {
	q := &rec.Question
	if rec.Kind == protocol.KindAsk {
		return &protocol.Part{Type: protocol.PartDataAsk, ID: rec.ID, Data: x.encode(protocol.Ask{
			Prompt: q.Prompt, Default: q.Default, Options: q.Options,
		})}
	}
	p := &protocol.Part{
		Type: protocol.PartToolApprovalRequest, ApprovalID: rec.ID, ToolCall: x.toolCall(rec),
		Prompt: q.Prompt, ExpiresAt: q.ExpiresAt,
	}
	if q.Level != "" {
		p.SecurityWarning = &protocol.SecurityWarning{Level: q.Level, Message: q.Warning}
	}
	return p
}

// toolCall is the call that a confirm is about, as far as it is known.
func (x questionStep) toolCall(rec *InteractionRecord) *protocol.ToolCall {
	q := &rec.Question
	out := &protocol.ToolCall{
		Type: "tool-call", ToolCallID: cmp.Or(q.ToolCallID, rec.ID), ToolName: cmp.Or(q.ToolName, "tool"), Input: q.Args,
	}
	if known, ok := x.State.Turn.Calls.known.get(q.ToolCallID); ok {
		out.ToolName = known.Name
		if out.Input == nil {
			out.Input = known.Input
		}
	}
	if out.Input == nil {
		out.Input = []byte("{}")
	}
	return out
}

// closeQuestion closes an open question.
func (x questionStep) closeQuestion(
	rec InteractionRecord, state protocol.InteractionState, answer *protocol.InteractionAnswer,
) {
	rec.State, rec.Answer = state, answer
	e := rec.Question
	e.State, e.Answer = state, answer
	p := &protocol.Part{
		Type: protocol.PartDataAnswer, ID: rec.ID, Data: x.encode(map[string]any{"state": state, "answer": answer}),
	}
	if rec.Kind == protocol.KindConfirm {
		approved, reason := false, ReasonExpired
		if answer != nil {
			approved, reason = answer.Approved != nil && *answer.Approved, answer.Reason
		}
		p = &protocol.Part{
			Type: protocol.PartToolApprovalResponse, ApprovalID: rec.ID, ToolCall: x.toolCall(&rec),
			Approved: &approved, Reason: reason,
		}
	}
	x.event(rec.TurnID, e, p, !x.State.Turn.Text.open)
	x.Rows.Interactions = append(x.Rows.Interactions, rec)
	open := slices.Clone(x.State.Questions)
	x.State.Questions = slices.DeleteFunc(open, func(q InteractionRecord) bool { return q.ID == rec.ID })
	x.effect(QuestionClosed{rec.ID})
}

// closeUnanswered closes a question that no user answered: a confirm is denied,
// an ask expires, and so do all questions of a program that died.
func (x questionStep) closeUnanswered(rec InteractionRecord, reason string) {
	if rec.Kind == protocol.KindAsk || reason == protocol.ReasonAgentExited {
		x.closeQuestion(rec, protocol.InteractionExpired, nil)
		return
	}
	no := false
	x.closeQuestion(rec, protocol.InteractionResolved, &protocol.InteractionAnswer{Approved: &no, Reason: reason})
}

// closeQuestions closes all open questions, denies their calls, and adds a failed
// result for every other call without one.
func (x questionStep) closeQuestions(reason string) {
	denied := map[string]bool{}
	for _, rec := range x.State.Questions {
		x.closeUnanswered(rec, reason)
		if rec.Kind == protocol.KindConfirm {
			denied[rec.Question.ToolCallID] = true
		}
	}
	x.calls().endCalls(denied, reason)
}

// reportBusy reports the status busy after a question was closed, unless another one is open.
func (x questionStep) reportBusy() {
	if len(x.State.Questions) == 0 {
		x.status(x.State.Turn.Record.ID, protocol.StatusBusy, "")
	}
}

// endingReason is the reason of open confirms when their turn ends.
func endingReason(reason string) string {
	switch reason {
	case protocol.ReasonAborted:
		return reasonInterrupted
	case "":
		return reasonTurnEnded
	default:
		return reason
	}
}

func (in Answered) apply(x *Step) error {
	q := x.State.OpenQuestion(in.InteractionID)
	if q == nil {
		return protocol.Errorf(protocol.CodeNotFound, "No open question %.100q", in.InteractionID)
	}
	rec, req, raw := *q, in.Request, in.Raw
	if err := rec.CheckAnswer(&req); err != nil {
		return err
	}
	if l, picked := rec.Offered.pick(req.Text); picked > 0 {
		req.Approved, raw.Approved, raw.Picked = &l.Approves, l.Approves, picked
	} else if rec.Kind == protocol.KindConfirm {
		req.Text = ""
	}
	return x.turns().report(rec.TurnID, func() {
		answer := &protocol.InteractionAnswer{
			Approved: req.Approved, Reason: protocol.CutText(req.Reason, MaxPhrase),
			Text: protocol.CutText(req.Text, maxFinal),
			By:   Name(cmp.Or(req.By, protocol.ByLocal), ""),
		}
		if rec.Kind == protocol.KindAsk {
			answer.Approved = nil
		}
		x.questions().remember(&req, rec.Shape, answer)
		x.questions().closeQuestion(rec, protocol.InteractionResolved, answer)
		x.questions().reportBusy()
		x.effect(Reply{rec.ID, raw})
	})
}

// remember stores what a lasting yes covers, and adds it to the journaled answer.
func (x questionStep) remember(req *protocol.AnswerRequest, shape string, answer *protocol.InteractionAnswer) {
	if req.Remember != protocol.RememberSession || shape == "" || req.Approved == nil || !*req.Approved {
		return
	}
	answer.Remembered = shape
	if known := x.State.Record.Remembered; !slices.Contains(known, shape) {
		x.record().Remembered = append(slices.Clone(known), shape)
	}
}

// SameAnswer reports whether a request repeats the answer that a question got.
// The request's text is masked.
func SameAnswer(rec *InteractionRecord, req *protocol.AnswerRequest) bool {
	if rec.Answer == nil {
		return false
	}
	sameText := rec.Answer.Text == protocol.CutText(req.Text, maxFinal)
	if rec.Kind == protocol.KindAsk || sameText && req.Text != "" {
		return sameText
	}
	return rec.Answer.Approved != nil && req.Approved != nil && *rec.Answer.Approved == *req.Approved
}

func (in QuestionExpired) apply(x *Step) error {
	q := x.State.OpenQuestion(in.InteractionID)
	if q == nil {
		return nil
	}
	rec := *q
	return x.turns().report(rec.TurnID, func() {
		x.questions().closeQuestion(rec, protocol.InteractionExpired, nil)
		x.questions().reportBusy()
		x.effect(Reply{rec.ID, Answer{Expired: true, Reason: ReasonExpired}})
	})
}

func (in QuestionCancelled) apply(x *Step) error {
	q := x.State.OpenQuestion(in.InteractionID)
	if q == nil || x.State.Turn.Stop != "" {
		return nil
	}
	rec := *q
	return x.turns().report(rec.TurnID, func() {
		if in.Expired {
			x.questions().closeQuestion(rec, protocol.InteractionExpired, nil)
		} else {
			x.questions().closeUnanswered(rec, reasonCancelled)
		}
		x.questions().reportBusy()
	})
}

// apply records that the connection to the agent is lost, or restored. Answers are held
// until it is restored.
func (in AgentChecking) apply(x *Step) error {
	return x.turns().report(in.TurnID, func() {
		if in.Lost == x.State.Turn.Lost {
			return
		}
		if len(x.State.Questions) > 0 {
			x.status(in.TurnID, protocol.StatusIdle, reasonOpen(in.Lost))
		}
		x.turn().Lost = in.Lost
		x.effect(HoldAnswers{in.Lost})
	})
}

func reasonOpen(lost bool) string {
	if lost {
		return protocol.ReasonChecking
	}
	return protocol.ReasonWaiting
}
