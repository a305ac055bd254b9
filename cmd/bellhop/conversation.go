package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"bellhop/client"
	"bellhop/protocol"
)

// chat is a conversation on one task.
type chat struct {
	client      *client.Client
	task        *protocol.Task
	screen      *screen
	lines       <-chan string
	signals     <-chan os.Signal
	interactive bool
	allowAll    bool
	mode        protocol.PermissionMode // for the next message; "" = the task's
	cancel      context.CancelFunc
}

// sendOne sends a message and shows its turn. errUnfinished: the turn ended early. The stream of a
// basic host may end without saying how the turn did, or be cut: then the task says it.
func (c *chat) sendOne(ctx context.Context, message string) error {
	turnID, end, err := c.send(ctx, message)
	switch {
	case err == nil && isFinished(end), turnID != "" && c.isDone(ctx, turnID):
	case err == nil:
		return errUnfinished
	default:
		return err
	}
	if err != nil {
		c.screen.line("%s", c.screen.dim(fmt.Sprintf("The turn is done, but its stream was cut: %v", err)))
	}
	return nil
}

// isDone reports whether the broker knows that the agent completed the turn.
func (c *chat) isDone(ctx context.Context, turnID string) bool {
	task, err := c.client.Task(ctx, c.task.ID)
	if err != nil || task.LastTurn == nil {
		return false
	}
	return task.LastTurn.ID == turnID && isComplete(task.LastTurn.FinishReason)
}

// isFinished reports whether the agent completed the turn: interrupts, errors and
// limits of the host do not count.
func isFinished(end *client.End) bool {
	return end != nil && end.Type == protocol.PartFinish && isComplete(end.FinishReason)
}

func isComplete(reason protocol.FinishReason) bool {
	return reason != protocol.FinishOther && reason != protocol.FinishError
}

// converse shows the history and the open turn, then sends line after line.
func (c *chat) converse(ctx context.Context) error {
	c.screen.line("%s %s", c.screen.bold(c.task.Title), c.screen.dim(c.task.ID))
	if err := c.showHistory(ctx); err != nil {
		return err
	}
	if c.task.OpenTurn != nil {
		stream, err := c.client.Watch(ctx, c.task.ID)
		if err != nil {
			return err
		}
		if _, err := c.follow(ctx, stream); err != nil {
			return err
		}
	}
	for {
		if c.interactive {
			c.screen.prompt("> ")
		}
		line, more, err := c.readLine(ctx)
		if !more || err != nil {
			return err
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if _, _, err := c.send(ctx, line); err != nil {
			if ctx.Err() != nil {
				return err
			}
			c.screen.showError(err)
		}
	}
}

// readLine waits for the next line. A signal ends the chat, because no turn is open.
func (c *chat) readLine(ctx context.Context) (line string, more bool, err error) {
	select {
	case line, more = <-c.lines:
		return line, more, nil
	case <-c.signals:
		c.screen.line("")
		return "", false, nil
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

// showHistory shows the last messages of the task.
func (c *chat) showHistory(ctx context.Context) error {
	before, limit := int64(1)<<62, 10
	page, err := c.client.Messages(ctx, c.task.ID, client.MessageQuery{Before: &before, Limit: limit})
	if err != nil {
		return err
	}
	for i := range page.Messages {
		c.screen.showMessage(&page.Messages[i])
	}
	return nil
}

// send sends a message and follows its turn. turnID is "" if the check-in failed.
func (c *chat) send(ctx context.Context, message string) (turnID string, end *client.End, err error) {
	stream, err := c.client.Send(ctx, &protocol.CheckInRequest{
		TaskID: c.task.ID, Message: message, PermissionMode: c.mode,
	})
	if err != nil {
		return "", nil, err
	}
	c.mode = "" // the task keeps it, until another client changes it
	end, err = c.follow(ctx, stream)
	return stream.TurnID, end, err
}

// streamItem is one result of the stream's reader.
type streamItem struct {
	event client.Event
	err   error
}

// follow shows a stream until its end and handles answers and signals meanwhile.
func (c *chat) follow(ctx context.Context, stream *client.Stream) (*client.End, error) {
	items := make(chan streamItem)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(items)
		for event, err := range stream.Events(ctx) {
			select {
			case items <- streamItem{event, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	turn := &turnView{chat: c, shown: map[string]bool{}, stopped: make(chan struct{}, 1)}
	for {
		select {
		case s, more := <-items:
			if !more {
				c.screen.endLine()
				return turn.transcript.End, nil
			}
			if s.err != nil {
				return nil, s.err
			}
			turn.apply(ctx, s.event)
		case <-turn.stopped:
			c.screen.line("%s", c.screen.dim("interrupted"))
			return nil, nil //nolint:nilnil // no part ends the stream of a basic host that was left
		case line, more := <-turn.answerLines():
			turn.answerNext(ctx, line, more)
		case sig := <-c.signals:
			if turn.interrupted || sig == syscall.SIGTERM {
				c.screen.line("\nThe turn stays open. Follow it with: bellhop chat --task %s", c.task.ID)
				c.cancel()
				return nil, context.Canceled
			}
			turn.interrupt(ctx)
		}
	}
}

// turnView shows one turn on the screen.
type turnView struct {
	chat        *chat
	transcript  client.Transcript
	shown       map[string]bool // ids of questions that were shown
	pending     []question      // unanswered questions, oldest first
	interrupted bool
	stopped     chan struct{} // gets a value when a basic host's turn is over: its stream is to be left
}

type question struct {
	id      string
	confirm bool
	refused bool // the agent does not take an answer: a person may name one that it offers
}

func (t *turnView) apply(ctx context.Context, event client.Event) {
	screen := t.chat.screen
	switch {
	case event.Lost != nil:
		screen.line("%s", screen.dim(fmt.Sprintf("connection lost, retry in %s", event.RetryIn.Round(100*time.Millisecond))))
		return
	case event.Reset:
		screen.line("%s", screen.dim("resumed; showing the turn from its start:"))
		t.pending = nil
	}
	block := t.transcript.Apply(event)
	if event.Part == nil {
		return
	}
	screen.showPart(event.Part)
	switch event.Part.Type {
	case protocol.PartToolApprovalRequest:
		if warning := event.Part.SecurityWarning; warning != nil {
			screen.line("%s", screen.styled(styleRed, printable(strings.TrimSpace(warning.Level+" "+warning.Message))))
		}
		prompt := "Allow " + event.Part.ToolCall.ToolName + "? [y]es, [n]o, [a]lways in this session: "
		t.showQuestion(ctx, question{id: event.Part.ApprovalID, confirm: true}, prompt)
	case protocol.PartToolApprovalResponse:
		t.removeQuestion(event.Part.ApprovalID)
	case protocol.PartDataAsk:
		if block != nil && block.Ask != nil {
			t.showQuestion(ctx, question{id: event.Part.ID}, block.Ask.Prompt+" ")
		}
	}
}

// showQuestion shows a question and queues it for an answer. With allowAll it
// answers permissions itself, once each, although a replayed turn repeats them.
func (t *turnView) showQuestion(ctx context.Context, q question, prompt string) {
	if t.chat.allowAll && q.confirm && !t.shown[q.id] {
		t.shown[q.id] = true
		t.sendAnswer(ctx, q, &protocol.AnswerRequest{Approved: &t.chat.allowAll})
		return
	}
	t.shown[q.id] = true
	t.pending = append(t.pending, q)
	t.chat.screen.prompt(prompt)
}

func (t *turnView) removeQuestion(id string) {
	for i, q := range t.pending {
		if q.id == id {
			t.pending = append(t.pending[:i], t.pending[i+1:]...)
			return
		}
	}
}

// answerLines returns the input lines while a question is pending, else nil.
func (t *turnView) answerLines() <-chan string {
	if len(t.pending) == 0 {
		return nil
	}
	return t.chat.lines
}

func (t *turnView) answerNext(ctx context.Context, line string, more bool) {
	q := t.pending[0]
	t.pending = t.pending[1:]
	line = strings.TrimSpace(line)
	if !q.confirm {
		t.sendAnswer(ctx, q, &protocol.AnswerRequest{Text: line})
		return
	}
	yes, no := true, false
	switch strings.ToLower(line) {
	case "y", "yes":
		t.sendAnswer(ctx, q, &protocol.AnswerRequest{Approved: &yes})
	case "a", "always":
		t.sendAnswer(ctx, q, &protocol.AnswerRequest{Approved: &yes, Remember: protocol.RememberSession})
	case "n", "no":
		t.sendAnswer(ctx, q, &protocol.AnswerRequest{Approved: &no})
	default:
		if !more { // input ended: no user can answer
			q.confirm = false // a refusal of this answer is final
			t.sendAnswer(ctx, q, &protocol.AnswerRequest{Approved: &no, Reason: "end of input"})
			return
		}
		if q.refused && line != "" {
			t.sendAnswer(ctx, q, &protocol.AnswerRequest{Text: line})
			return
		}
		t.pending = append([]question{q}, t.pending...)
		t.chat.screen.prompt("Please answer y, n or a: ")
	}
}

// sendAnswer sends an answer. The broker waits for a question that the stream showed
// before its webhook arrived.
func (t *turnView) sendAnswer(ctx context.Context, q question, req *protocol.AnswerRequest) {
	err := t.chat.client.Answer(ctx, q.id, req)
	if ctx.Err() != nil {
		return
	}
	switch protocol.CodeOf(err) {
	case "", protocol.CodeAnswered, protocol.CodeExpired: // the stream shows the answer that counted
	default:
		t.chat.screen.showError(err)
		if q.confirm && protocol.CodeOf(err) == protocol.CodeInvalid {
			q.refused = true
			t.pending = append([]question{q}, t.pending...)
			t.chat.screen.prompt("Please answer y, n, a or the name of an answer: ")
		}
	}
}

func (t *turnView) interrupt(ctx context.Context) {
	t.interrupted = true
	t.chat.screen.line("\n%s", t.chat.screen.dim("interrupting; press Ctrl-C again to leave the turn open and exit"))
	go func() {
		done, err := t.chat.client.Interrupt(ctx, t.chat.task.ID)
		switch {
		case err != nil && ctx.Err() == nil:
			t.chat.screen.showError(err)
		case err == nil && done.CloseStream:
			t.stopped <- struct{}{}
		}
	}()
}
