package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

const (
	maxRefusal     = 64 << 10    // of a host's answer that is read
	refusedTurns   = 3           // after so many turns that the host did not start, the message is refused
	stopCheckEvery = time.Second // between two checks whether the turn of a stream was stopped
	reasonRefused  = "The agent host refused the message"
	reasonAttached = "The agent works in a terminal: the message is sent when that is closed. Send it now " +
		"to close it first"
	reasonUnknown = "The connection to the agent server broke before it answered: whether it received the last " +
		"message is not known"
	reasonMoved = "The task moved to another host while a message was being sent: whether the first host received it " +
		"is not known"
)

// sendNext sends the next message of a task, if it is due.
func (q *Queue) sendNext(ctx context.Context, taskID string) error {
	s, err := q.claim(ctx, taskID)
	if err != nil || s == nil {
		return err
	}
	failpoint.Hit("queue-claimed")
	c, prompt, err := s.checkIn(ctx)
	var opened *protocol.OpenSessionResponse
	if err == nil {
		opened, err = q.Sessions.openTurn(ctx, c)
	}
	marked := false
	if err == nil {
		marked, err = s.decide(ctx, c, opened)
	}
	switch {
	case err != nil:
		return errors.Join(err, s.retryLater(context.WithoutCancel(ctx), publicText(err)))
	case !marked:
		return nil
	}
	failpoint.Hit("queue-marked")
	prompt.Force = s.force && hasEvents(opened) // a basic host may refuse a member that it does not know
	body, err := json.Marshal(prompt)
	if err != nil {
		return err
	}
	return s.prompt(ctx, c, opened, body)
}

// decide reports whether the prompt is to be sent to the host that opened the session. If not, it has
// stored why. An error means that nothing is decided.
func (s *queuedSend) decide(ctx context.Context, c *checkIn, opened *protocol.OpenSessionResponse) (bool, error) {
	switch {
	case s.resent && !hasEvents(opened):
		return false, s.giveUp(ctx, protocol.PauseUnknown, reasonUnknown)
	case s.resent && s.message.Place != c.place():
		return false, s.giveUp(ctx, protocol.PauseUnknown, reasonMoved)
	case opened.OpenTurn != "" && opened.OpenTurn != c.turnID, len(opened.QueuedTurns) > 0:
		s.q.Sessions.wake(c.task.ID)
		return false, s.retryLater(ctx, "")
	case opened.Attached && !s.resent && !s.force:
		return false, s.waitForTerminal(ctx)
	}
	marked, err := s.markSent(ctx, c, c.place())
	if err == nil && !marked {
		err = s.retryLater(ctx, "")
	}
	return marked, err
}

// checkIn returns the message as a check-in, and its prompt.
func (s *queuedSend) checkIn(ctx context.Context) (*checkIn, *protocol.PromptRequest, error) {
	m := &s.message
	attachments, err := s.q.Store.QueuedAttachments(ctx, m.TaskID, m.ID)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.q.Sessions.checkIn(ctx, s.user, &protocol.CheckInRequest{
		TaskID: m.TaskID, Message: m.Message, Artifacts: m.Artifacts, MessageID: m.ID,
	})
	if err == nil {
		c.messageID, c.turnID = m.ID, m.TurnID
	}
	return c, &protocol.PromptRequest{Prompt: m.Message, Attachments: attachments}, err
}

// place names what has the session: a registered host or a task's own URL.
func (c *checkIn) place() string { return c.task.HostID + c.task.AgentURL }

// prompt sends the prompt and stores the outcome. The end of the broker does not cut the request:
// its outcome could then be unknown.
func (s *queuedSend) prompt(ctx context.Context, c *checkIn, opened *protocol.OpenSessionResponse, body []byte) error {
	request := &RelayRequest{
		SessionID: c.task.ID, Method: http.MethodPost, Query: url.Values{},
		Body: bytes.NewReader(body), Length: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}},
	}
	events := hasEvents(opened)
	if events {
		request.Header.Set("Authorization", "Bearer "+opened.Token)
	} else {
		request.Query.Set("token", opened.Token)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	response, err := s.q.Sessions.Relayer.Relay(running, c.target, request)
	failpoint.Hit("queue-prompted")
	if err == nil && response.StatusCode < http.StatusMultipleChoices && !events {
		return s.follow(ctx, cancel, c, response)
	}
	defer cancel()
	if err != nil {
		return s.unanswered(running, events, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return s.refused(running, events, response)
	}
	return s.started(running, c, traitsOf(opened))
}

// started stores that the host has the prompt. A turn that a user has stopped meanwhile is stopped.
func (s *queuedSend) started(ctx context.Context, c *checkIn, traits hostTraits) error {
	stopped, err := s.removeDelivered(ctx, traits)
	if err == nil && stopped {
		_, err = s.q.Sessions.interrupt(ctx, s.user, c.task.ID, c.turnID)
	}
	return err
}

// unanswered handles a prompt without an answer. A host with events starts the turn once,
// whether it has the prompt or not; of a basic host nothing is known.
func (s *queuedSend) unanswered(ctx context.Context, events bool, failure error) error {
	if !events {
		return errors.Join(failure, s.giveUp(ctx, protocol.PauseUnknown, reasonUnknown))
	}
	return errors.Join(failure, s.retryLater(ctx, publicText(failure)))
}

// refused handles an answer that is no stream.
func (s *queuedSend) refused(ctx context.Context, events bool, response *http.Response) error {
	var answer struct {
		Code  protocol.Code `json:"code"`
		Error string        `json:"error"`
	}
	raw, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	_ = json.Unmarshal(raw, &answer) // a gateway's answer may be anything
	text := reasonRefused
	if answer.Error != "" {
		text += ": " + protocol.SanitizeText(answer.Error)
	}
	switch {
	case !events:
	case answer.Code == protocol.CodeBusy:
		return s.retryLater(ctx, "")
	case answer.Code == protocol.CodeAttached:
		return s.waitForTerminal(ctx)
	case answer.Code == protocol.CodeNoTurn && s.message.Turn+1 < refusedTurns:
		return s.useNextTurn(ctx, text)
	case answer.Code == protocol.CodeNoTurn, response.StatusCode == http.StatusRequestEntityTooLarge,
		answer.Code == protocol.CodeInvalid:
	default:
		return s.retryLater(ctx, text)
	}
	return s.giveUp(ctx, protocol.PauseFailed, text)
}

// follow reads the stream of a basic host to its end, which is the end of the turn. It returns when
// the prompt is stored as delivered; a goroutine continues to read.
func (s *queuedSend) follow(ctx context.Context, cancel context.CancelFunc, c *checkIn, response *http.Response) error {
	stopped, err := s.removeDelivered(context.WithoutCancel(ctx), hostTraits{})
	if stopped {
		err = errors.Join(err, s.q.Sessions.abortBasic(ctx, s.user, c.task.ID))
	}
	turn := &RelayedTurn{sessions: s.q.Sessions, task: c.task, turnID: c.turnID}
	s.q.runner.working.Go(func() {
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		defer func() { _ = response.Body.Close() }()
		watched := make(chan struct{})
		watching, unwatch := context.WithCancel(ctx)
		go func() {
			defer close(watched)
			turn.EndWith(watching, cancel)
		}()
		_, broken := io.Copy(turn.Reader(ctx), response.Body)
		unwatch()
		<-watched
		if broken == nil {
			s.q.report(ctx, "end the turn", c.task.ID, turn.Ended(context.WithoutCancel(ctx)))
			s.q.runner.wake()
		}
	})
	return err
}

// publicText returns what users may read of an error.
func publicText(err error) string {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return "Internal error"
	}
	if known.Hint != "" {
		return known.Message + ". " + known.Hint
	}
	return known.Message
}
