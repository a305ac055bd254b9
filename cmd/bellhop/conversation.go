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
	leave       context.CancelFunc
}

// once sends a message and shows its turn.
func (c *chat) once(ctx context.Context, message string) error {
	end, err := c.send(ctx, message)
	if err == nil && !finished(end) {
		err = errUnfinished
	}
	return err
}

// finished: a turn that its host ended, or gave up, is none.
func finished(end *client.End) bool {
	return end != nil && end.Type == protocol.PartFinish && end.FinishReason != protocol.FinishOther && end.FinishReason != protocol.FinishError
}

// talk shows what there is, then sends a line at a time.
func (c *chat) talk(ctx context.Context) error {
	c.screen.line("%s %s", c.screen.bold(c.task.Title), c.screen.dim(c.task.ID))
	if err := c.history(ctx); err != nil {
		return err
	}
	if c.task.OpenTurn != "" {
		stream, err := c.client.Watch(ctx, c.task.ID)
		if err != nil {
			return err
		}
		if _, err := c.show(ctx, stream); err != nil {
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
		if _, err := c.send(ctx, line); err != nil {
			if ctx.Err() != nil {
				return err
			}
			c.screen.failure(err)
		}
	}
}

// readLine is the next line; a signal while nothing runs ends the chat.
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

// history shows the last messages of a task that is not new.
func (c *chat) history(ctx context.Context) error {
	before, limit := int64(1)<<62, 10
	page, err := c.client.Messages(ctx, c.task.ID, client.MessageQuery{Before: &before, Limit: limit})
	if err != nil {
		return err
	}
	for i := range page.Messages {
		c.screen.message(&page.Messages[i])
	}
	return nil
}

func (c *chat) send(ctx context.Context, message string) (*client.End, error) {
	stream, err := c.client.Send(ctx, &protocol.CheckInRequest{TaskID: c.task.ID, Message: message})
	if err != nil {
		return nil, err
	}
	return c.show(ctx, stream)
}

// step is what the stream's reader hands over.
type step struct {
	event client.Event
	err   error
}

// show draws a stream to its end, answering questions and signals meanwhile.
func (c *chat) show(ctx context.Context, stream *client.Stream) (*client.End, error) {
	steps := make(chan step)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(steps)
		for event, err := range stream.Events(ctx) {
			select {
			case steps <- step{event, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	turn := &turnView{chat: c, asked: map[string]bool{}}
	for {
		select {
		case s, more := <-steps:
			if !more {
				c.screen.endLine()
				return turn.transcript.End, nil
			}
			if s.err != nil {
				return nil, s.err
			}
			turn.apply(ctx, s.event)
		case line, more := <-turn.answers():
			turn.answer(ctx, line, more)
		case sig := <-c.signals:
			if turn.interrupted || sig == syscall.SIGTERM {
				c.screen.line("\nThe turn goes on; see it with: bellhop chat --task %s", c.task.ID)
				c.leave()
				return nil, context.Canceled
			}
			turn.interrupt(ctx)
		}
	}
}

// turnView is a turn on the screen.
type turnView struct {
	chat        *chat
	transcript  client.Transcript
	asked       map[string]bool // questions put on the screen
	waiting     []question      // not answered yet, oldest first
	interrupted bool
}

type question struct {
	id      string
	confirm bool
}

func (t *turnView) apply(ctx context.Context, event client.Event) {
	screen := t.chat.screen
	switch {
	case event.Lost != nil:
		screen.line("%s", screen.dim(fmt.Sprintf("connection lost, again in %s", event.RetryIn.Round(100_000_000))))
		return
	case event.Reset:
		screen.line("%s", screen.dim("resumed; the turn from its start:"))
		t.waiting = nil
	}
	block := t.transcript.Apply(event)
	if event.Part == nil {
		return
	}
	screen.part(event.Part)
	switch event.Part.Type {
	case protocol.PartToolApprovalRequest:
		t.ask(ctx, question{id: event.Part.ApprovalID, confirm: true}, "Allow "+event.Part.ToolCall.ToolName+"? [y]es, [n]o, [a]lways in this session: ")
	case protocol.PartToolApprovalResponse:
		t.forget(event.Part.ApprovalID)
	case protocol.PartDataAsk:
		if block != nil && block.Ask != nil {
			t.ask(ctx, question{id: event.Part.ID}, block.Ask.Prompt+" ")
		}
	}
}

// ask puts a question on the screen once; a replayed turn repeats them.
func (t *turnView) ask(ctx context.Context, q question, prompt string) {
	if t.chat.allowAll && q.confirm && !t.asked[q.id] {
		t.asked[q.id] = true
		t.reply(ctx, q, &protocol.AnswerRequest{Approved: &t.chat.allowAll})
		return
	}
	t.asked[q.id] = true
	t.waiting = append(t.waiting, q)
	t.chat.screen.prompt(prompt)
}

func (t *turnView) forget(id string) {
	for i, q := range t.waiting {
		if q.id == id {
			t.waiting = append(t.waiting[:i], t.waiting[i+1:]...)
			return
		}
	}
}

// answers is where lines come from while a question waits, else nothing.
func (t *turnView) answers() <-chan string {
	if len(t.waiting) == 0 {
		return nil
	}
	return t.chat.lines
}

func (t *turnView) answer(ctx context.Context, line string, more bool) {
	q := t.waiting[0]
	t.waiting = t.waiting[1:]
	line = strings.TrimSpace(line)
	if !q.confirm {
		t.reply(ctx, q, &protocol.AnswerRequest{Text: line})
		return
	}
	yes, no := true, false
	switch strings.ToLower(line) {
	case "y", "yes":
		t.reply(ctx, q, &protocol.AnswerRequest{Approved: &yes})
	case "a", "always":
		t.reply(ctx, q, &protocol.AnswerRequest{Approved: &yes, Remember: protocol.RememberSession})
	case "n", "no":
		t.reply(ctx, q, &protocol.AnswerRequest{Approved: &no})
	default:
		if !more { // nobody is there to say yes
			t.reply(ctx, q, &protocol.AnswerRequest{Approved: &no, Reason: "end of input"})
			return
		}
		t.waiting = append([]question{q}, t.waiting...)
		t.chat.screen.prompt("Please answer y, n or a: ")
	}
}

// reply sends an answer. The stream is faster than the webhook that tells the
// broker of the question, so an unknown question is asked for again.
func (t *turnView) reply(ctx context.Context, q question, req *protocol.AnswerRequest) {
	const attempts, pause = 50, 100 * time.Millisecond
	var err error
	for range attempts {
		err = t.chat.client.Answer(ctx, q.id, req)
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
	switch protocol.CodeOf(err) {
	case "", protocol.CodeAnswered, protocol.CodeExpired: // somebody else was faster; the stream says what they said
	default:
		t.chat.screen.failure(err)
	}
}

func (t *turnView) interrupt(ctx context.Context) {
	t.interrupted = true
	t.chat.screen.line("\n%s", t.chat.screen.dim("interrupting; Ctrl-C once more leaves the turn running"))
	go func() {
		if err := t.chat.client.Interrupt(ctx, t.chat.task.ID); err != nil && ctx.Err() == nil {
			t.chat.screen.failure(err)
		}
	}()
}
