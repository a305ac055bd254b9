package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"bellhop/protocol"
)

// maxSteps bounds the completions of one turn. A model that keeps calling tools ends in an
// error.
const maxSteps = 200

// runTurn runs one turn. It returns the reason of waiting_for_input.
func (s *session) runTurn(ctx context.Context, input Message) string {
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

// converse alternates completions and tool calls until the model calls no tool.
func (s *session) converse(ctx context.Context, input Message) error {
	s.history = append(s.history, input)
	s.usage = Usage{}
	for range maxSteps {
		s.enter(protocol.StateThinking)
		reply, err := s.complete(ctx)
		if reply.Text != "" || len(reply.Calls) > 0 {
			s.history = append(s.history, reply)
		}
		// Calls get results after an error too: models reject a conversation with unanswered
		// calls.
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

// enter writes a state line if the state changes.
func (s *session) enter(state string) {
	if s.state != state {
		s.state = state
		s.emit(protocol.Line{Type: protocol.LineState, State: state})
	}
}

// complete streams one completion and returns it, or the part of it before an error.
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

// text returns a chunk line, or the message line that repeats a block.
func (s *session) text(kind, content string) protocol.Line {
	line := protocol.Line{Type: kind, Content: &content}
	if kind == protocol.LineMessage {
		line.Format = "markdown"
		line.Metadata = s.metadata()
	}
	return line
}

// metadata has the model's name and the usage of the turn so far.
func (s *session) metadata() json.RawMessage {
	if s.usage == (Usage{}) {
		return encode(map[string]any{"model": s.opts.Model})
	}
	return encode(map[string]any{"model": s.opts.Model, "usage": s.usage})
}

// call runs one tool call and returns its result.
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

// denied is the error of a call without permission.
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
	act, err := s.tools.prepare(call)
	if err != nil {
		return "", err
	}
	if err := s.permit(ctx, call, act); err != nil {
		return "", err
	}
	s.enter(protocol.StateExecutingTool)
	return act.run(ctx)
}

func (s *session) allowed(shape string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remembered[shape]
}

// confirm asks for permission; nil means granted.
func (s *session) confirm(ctx context.Context, call ToolCall, act *action) error {
	answer, err := s.question(ctx, protocol.Line{
		Type: protocol.LineConfirm, Prompt: act.prompt, ToolName: call.Name,
		Args: call.Arguments, SecurityWarning: act.warning,
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
	if answer.Remember == protocol.RememberSession && act.shape != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remembered[act.shape] = true
	}
	return nil
}

// ask asks the user a free question and returns the answer.
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
