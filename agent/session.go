package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"bellhop/protocol"
)

// errInterrupted is the cancel cause of a turn that was interrupted.
var errInterrupted = errors.New("interrupted")

// errNoClient denies a question when the input has ended.
var errNoClient = errors.New("the input has ended, no client can answer")

// session is one conversation, independent of how its lines are transported.
type session struct {
	opts  Options
	root  *os.Root
	tools toolbox
	emit  func(protocol.Line) // adds the session id; never fails, see Stdio
	front Front               // zero for Stdio

	history []Message // only for the turn's goroutine
	usage   Usage     // of the current turn; only for the turn's goroutine
	state   string    // of the last state line; only for the turn's goroutine

	bound atomic.Value // string: the session id, "" until one is bound

	mu         sync.Mutex
	turn       *turn // nil while waiting for input
	ended      bool  // the input has ended: questions are denied
	questions  map[string]*question
	remembered map[string]bool // shapes of calls that the user allowed for the session
}

// turn is one input and the work on it.
type turn struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	reason string // of waiting_for_input; read after done
	denied bool   // a call was denied, or a question had no answer; read after done
}

// question is an open ask or confirm. answer receives the client's line once; closing it
// without a line is a denial.
type question struct {
	kind   string // protocol.LineAnswer or LineConfirmation
	answer chan *protocol.Line
}

// newSession opens the working directory; the caller closes it with root.Close. write sends a
// line to the client.
func newSession(opts Options, write func(protocol.Line)) (*session, error) {
	root, err := os.OpenRoot(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("open working directory: %w", err)
	}
	s := &session{
		opts: opts, root: root, tools: newToolbox(root, opts.CommandTime, opts.Tools...),
		questions: map[string]*question{}, remembered: map[string]bool{},
	}
	s.bound.Store(opts.SessionID)
	s.emit = func(line protocol.Line) {
		line.SessionID, line.Timestamp = s.bound.Load().(string), s.now()
		write(line)
	}
	return s, nil
}

// now returns the timestamp of a line.
func (s *session) now() json.RawMessage {
	return strconv.AppendInt(nil, s.opts.Now().UnixMilli(), 10)
}

// hello returns the line that begins a session.
func (s *session) hello() protocol.Line {
	line := protocol.Line{Type: protocol.LineHello, Version: s.opts.Version}
	for _, spec := range s.tools.specs() {
		line.Tools = append(line.Tools, spec.Name)
	}
	return line
}

// handle processes one line of the client. An invalid line changes nothing; the response is a
// status line. A blank line is ignored.
func (s *session) handle(ctx context.Context, raw []byte) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	line, err := protocol.ParseLine(raw)
	if err == nil {
		err = s.apply(ctx, line)
	}
	if err != nil {
		s.emit(protocol.RefusalLine("", err, explain(err), line))
	}
}

func (s *session) refuse(message string) {
	s.emit(protocol.Line{Type: protocol.LineStatus, Level: "error", Message: message})
}

// apply executes a line. Only a valid line binds the session id.
func (s *session) apply(ctx context.Context, line *protocol.Line) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	bound := s.bound.Load().(string)
	if line.SessionID != "" && bound != "" && line.SessionID != bound {
		return protocol.Errorf(protocol.CodeNotFound, "This is not session %.100q", line.SessionID)
	}
	act, err := s.check(line)
	if err != nil {
		return err
	}
	if bound == "" {
		s.bound.Store(line.SessionID)
	}
	if s.front.Accepted != nil {
		s.front.Accepted(line)
	}
	act(ctx)
	return nil
}

// check validates a line and returns its effect, to be called under mu.
func (s *session) check(line *protocol.Line) (func(context.Context), error) {
	switch line.Type {
	case protocol.LineInput:
		input, err := s.checkInput(line)
		return func(ctx context.Context) { s.start(ctx, input) }, err
	case protocol.LineAnswer, protocol.LineConfirmation:
		q, err := s.checkAnswer(line)
		return func(context.Context) { s.resolve(line.RequestID, q, line) }, err
	case protocol.LineInterrupt:
		return func(context.Context) { s.interrupt() }, nil
	default:
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("Unknown type %.100q", line.Type),
			Hint: "Known are input, answer, confirmation and interrupt",
		}
	}
}

func (s *session) checkInput(line *protocol.Line) (Message, error) {
	input := Message{Role: RoleUser, Attachments: line.Attachments}
	if line.Text != nil {
		input.Text = *line.Text
	}
	switch {
	case strings.TrimSpace(input.Text) == "" && len(input.Attachments) == 0:
		return input, protocol.Errorf(protocol.CodeInvalid, "An input needs text or attachments")
	case s.turn != nil:
		return input, &protocol.Error{
			Code: protocol.CodeBusy, Message: "An input is being worked on",
			Hint: "Wait for waiting_for_input, or send interrupt",
		}
	case s.ended:
		return input, protocol.Errorf(protocol.CodeGone, "The session has ended")
	}
	return input, protocol.CheckAttachments(input.Attachments)
}

func (s *session) checkAnswer(line *protocol.Line) (*question, error) {
	q, ok := s.questions[line.RequestID]
	switch {
	case line.RequestID == "":
		return nil, protocol.Errorf(protocol.CodeInvalid, "request_id is required")
	case !ok:
		return nil, protocol.Errorf(protocol.CodeNotFound, "No open question %.100q", line.RequestID)
	case q.kind != line.Type:
		return nil, protocol.Errorf(protocol.CodeInvalid, "Question %s is answered by type %q", line.RequestID, q.kind)
	case line.Type == protocol.LineAnswer && line.Text == nil:
		return nil, protocol.Errorf(protocol.CodeInvalid, "An answer needs text")
	case line.Type == protocol.LineConfirmation && line.Value == nil:
		return nil, protocol.Errorf(protocol.CodeInvalid, "A confirmation needs value")
	case line.Remember != "" && line.Remember != protocol.RememberSession:
		return nil, protocol.Errorf(protocol.CodeInvalid, "remember must be \"session\" or absent")
	}
	return q, nil
}

// resolve answers a question; nil denies it. Called under mu.
func (s *session) resolve(id string, q *question, line *protocol.Line) {
	delete(s.questions, id)
	if line != nil {
		q.answer <- line
	}
	close(q.answer)
}

// interrupt cancels the turn, if there is one. Called under mu.
func (s *session) interrupt() {
	if s.turn != nil {
		s.turn.cancel(errInterrupted)
	}
}

// start begins a turn. Called under mu.
func (s *session) start(ctx context.Context, input Message) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &turn{cancel: cancel, done: make(chan struct{})}
	s.turn = t
	go func() {
		defer close(t.done)
		defer cancel(nil)
		reason := s.runTurn(ctx, input)
		t.denied = slices.ContainsFunc(s.history, func(m Message) bool { return m.Outcome == OutcomeDenied })
		s.finish(t, reason)
	}()
}

// finish ends the turn. The line is written under mu: the client may respond at once, and no
// line of the next turn may precede it.
func (s *session) finish(t *turn, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.reason, s.turn, s.state = reason, nil, ""
	s.emit(protocol.Line{Type: protocol.LineState, State: protocol.StateWaitingForInput, Reason: reason})
}

// end denies open and future questions and waits until the turn has ended.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	for id, q := range s.questions {
		s.resolve(id, q, nil)
	}
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		<-t.done
	}
}

// question asks the client and waits for its line. The error is errNoClient or the context's.
func (s *session) question(ctx context.Context, line protocol.Line) (*protocol.Line, error) {
	q := &question{kind: protocol.LineAnswer, answer: make(chan *protocol.Line, 1)}
	if line.Type == protocol.LineConfirm {
		q.kind = protocol.LineConfirmation
	}
	line.RequestID = s.opts.NewID()
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, errNoClient
	}
	s.questions[line.RequestID] = q
	s.mu.Unlock()
	s.emit(line)
	select {
	case answer, ok := <-q.answer:
		if !ok {
			return nil, errNoClient
		}
		return answer, nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.questions, line.RequestID)
		if s.front.QuestionClosed != nil {
			s.front.QuestionClosed(line.RequestID)
		}
		return nil, ctx.Err()
	}
}
