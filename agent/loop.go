package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"bellhop/protocol"
)

// maxSteps bounds the completions of one turn: a model that calls tools for
// ever ends in an error.
const maxSteps = 200

// work is one turn. It returns the reason of waiting_for_input.
func (s *session) work(ctx context.Context, input Message) string {
	began := s.opts.Now()
	err := s.converse(ctx, input)
	reason := protocol.WaitingDone
	switch {
	case err == nil:
	case ctx.Err() != nil:
		reason = protocol.WaitingInterrupted
	default:
		reason = protocol.WaitingError
		s.refuse(explain(err))
	}
	s.opts.Log.Info("turn ended", "reason", reason, "duration", s.opts.Now().Sub(began), "error", err)
	return reason
}

// converse completes and runs tools until the model calls none.
func (s *session) converse(ctx context.Context, input Message) error {
	s.history = append(s.history, input)
	s.usage = Usage{}
	for range maxSteps {
		s.enter(protocol.StateThinking)
		reply, err := s.complete(ctx)
		if reply.Text != "" || len(reply.Calls) > 0 {
			s.history = append(s.history, reply)
		}
		// Calls get their results also after an error: models refuse a
		// conversation with open ones.
		for _, call := range reply.Calls {
			s.history = append(s.history, s.call(ctx, call))
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || len(reply.Calls) == 0 {
			return err
		}
	}
	return protocol.Errorf(protocol.CodeInternal, "The model called tools %d times in one turn without an end", maxSteps)
}

// enter writes a state line if the state is another.
func (s *session) enter(state string) {
	if s.state != state {
		s.state = state
		s.emit(protocol.Line{Type: protocol.LineState, State: state})
	}
}

// complete streams one completion and returns as much of it as there was.
func (s *session) complete(ctx context.Context) (Message, error) {
	reply := Message{Role: RoleAssistant}
	var block strings.Builder
	flush := func() {
		if block.Len() > 0 {
			s.emit(s.text(protocol.LineMessage, block.String()))
			reply.Text += block.String()
			block.Reset()
		}
	}
	defer flush()
	for delta, err := range s.opts.Completer.Complete(ctx, s.conversation(), s.tools.specs()) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			flush()
			return reply, err
		}
		if delta.Usage != nil {
			s.usage.add(*delta.Usage)
		}
		if delta.Notice != "" {
			s.emit(protocol.Line{Type: protocol.LineStatus, Level: "warning", Message: delta.Notice})
		}
		if delta.Text != "" {
			block.WriteString(delta.Text)
			s.emit(s.text(protocol.LineChunk, delta.Text))
		}
		if delta.Call != nil {
			flush()
			call := *delta.Call
			call.ID = s.opts.NewID()
			reply.Calls = append(reply.Calls, call)
		}
	}
	flush()
	return reply, ctx.Err()
}

// text is a chunk or the message that repeats a block.
func (s *session) text(kind, content string) protocol.Line {
	line := protocol.Line{Type: kind, Content: &content}
	if kind == protocol.LineMessage {
		line.Format = "markdown"
		line.Metadata = s.metadata()
	}
	return line
}

// metadata of a message names the model and what the turn has cost so far.
func (s *session) metadata() json.RawMessage {
	if s.usage == (Usage{}) {
		return encode(map[string]any{"model": s.opts.Model})
	}
	return encode(map[string]any{"model": s.opts.Model, "usage": s.usage})
}

// call runs one tool call, from its announcement to its result.
func (s *session) call(ctx context.Context, call ToolCall) Message {
	if ctx.Err() != nil {
		return result(call, "", ctx.Err())
	}
	if call.Name == ToolAskUser {
		answer, err := s.ask(ctx, call)
		return result(call, answer, err)
	}
	s.emit(protocol.Line{Type: protocol.LineToolStart, ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	content, err := s.execute(ctx, call)
	r := result(call, content, err)
	s.emit(protocol.Line{
		Type: protocol.LineToolMessage, ID: call.ID, Name: call.Name,
		Content: &r.Text, IsError: r.Outcome != OutcomeDone,
	})
	return r
}

// denied is the error of a call that the user, or nobody, allowed.
type denied struct{ message string }

func (d denied) Error() string { return d.message }

func result(call ToolCall, content string, err error) Message {
	r := Message{Role: RoleTool, CallID: call.ID, Text: content, Outcome: OutcomeDone}
	switch {
	case err == nil:
	case errors.As(err, &denied{}):
		r.Text, r.Outcome = err.Error(), OutcomeDenied
	case errors.Is(err, context.Canceled):
		r.Text, r.Outcome = "Interrupted by the user.", OutcomeError
	default:
		r.Text, r.Outcome = explain(err), OutcomeError
	}
	return r
}

func (s *session) execute(ctx context.Context, call ToolCall) (string, error) {
	do, err := s.tools.prepare(call)
	if err != nil {
		return "", err
	}
	if err := s.permit(ctx, call, do); err != nil {
		return "", err
	}
	s.enter(protocol.StateExecutingTool)
	return do.run(ctx)
}

func (s *session) allowed(tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remembered[tool]
}

// confirm asks for permission; nil grants it.
func (s *session) confirm(ctx context.Context, call ToolCall, do *action) error {
	answer, err := s.question(ctx, protocol.Line{
		Type: protocol.LineConfirm, Prompt: do.prompt, ToolName: call.Name, Args: call.Arguments, SecurityWarning: do.warning,
	})
	switch {
	case errors.Is(err, errNoClient):
		return denied{"Denied: " + errNoClient.Error() + "."}
	case err != nil:
		return err
	case !*answer.Value && answer.Reason != "":
		return denied{"Denied by the user: " + answer.Reason}
	case !*answer.Value:
		return denied{"Denied by the user."}
	}
	if answer.Remember == protocol.RememberSession {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remembered[call.Name] = true
	}
	return nil
}

// ask puts a free question to the user and returns the answer.
func (s *session) ask(ctx context.Context, call ToolCall) (string, error) {
	var a struct {
		Question string `json:"question"`
		Default  string `json:"default"`
	}
	if err := protocol.Decode(call.Arguments, &a); err != nil {
		return "", err
	}
	answer, err := s.question(ctx, protocol.Line{Type: protocol.LineAsk, Prompt: a.Question, Default: a.Default})
	switch {
	case errors.Is(err, errNoClient):
		return "", denied{"Not answered: " + errNoClient.Error() + "."}
	case err != nil:
		return "", err
	}
	return *answer.Text, nil
}
