package providertest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

var errClosed = errors.New("the agent is closed")

// player runs one prompt.
type player struct {
	fake  *Fake
	ctx   context.Context
	out   agenthost.Output
	calls int
	usage json.RawMessage
}

// script runs the prompt's lines. Its context ends when the turn is stopped. An
// error of the Output ends the turn in the same way.
func (f *Fake) script(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	p := &player{fake: f, ctx: ctx, out: out}
	for line := range strings.Lines(prompt.Text) {
		line = strings.TrimRight(strings.TrimLeft(line, " \t"), "\r\n")
		if line == "" {
			continue
		}
		if outcome, err := p.step(line); outcome != nil || err != nil {
			return p.end(outcome, err)
		}
	}
	return p.end(&agenthost.Outcome{}, nil)
}

// end closes the open block, unless the turn is being stopped.
func (p *player) end(outcome *agenthost.Outcome, err error) (agenthost.Outcome, error) {
	switch {
	case errors.Is(err, errCannotStart):
		return agenthost.Outcome{}, err
	case err != nil || p.ctx.Err() != nil:
		aborted := Aborted
		aborted.Usage = p.usage
		return aborted, nil //nolint:nilerr // the end of the context is how an interrupt arrives
	}
	if err := p.out.EndText(""); err != nil {
		return p.end(nil, err)
	}
	outcome.Usage = p.usage
	return *outcome, nil
}

var errCannotStart = errors.New("the agent cannot be started")

// step runs one line. An Outcome ends the turn.
func (p *player) step(line string) (*agenthost.Outcome, error) {
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "cannot-start":
		return nil, errCannotStart
	case "fail":
		return &agenthost.Outcome{FinishReason: protocol.FinishError, Err: cmp.Or(rest, "the script says fail")}, nil
	case "crash":
		return &agenthost.Outcome{
			FinishReason: protocol.FinishError,
			Reason:       protocol.ReasonAgentExited,
			Err:          strings.TrimSuffix("the agent exited: exit status 1\n"+rest, "\n"),
		}, nil
	case "finish":
		return &agenthost.Outcome{FinishReason: protocol.FinishReason(rest)}, nil
	}
	return nil, p.output(verb, rest, line)
}

// output handles the verbs that call the Output, and passes others to connection.
func (p *player) output(verb, rest, line string) error {
	switch verb {
	case "text":
		return p.out.Text(rest)
	case "end":
		return p.out.EndText(rest)
	case "reason":
		return errors.Join(p.out.Reasoning(rest), p.out.EndReasoning())
	case "tool", "toolerr", "confirm", "expire":
		return p.tool(verb, rest)
	case "ask":
		return p.ask(rest)
	case "notice":
		level, message, _ := strings.Cut(rest, " ")
		p.out.Notice(level, message)
		return nil
	case "agent-session":
		return p.out.SetAgentSessionID(rest)
	case "usage":
		p.usage = json.RawMessage(rest)
		return nil
	}
	return p.connection(verb, rest, line)
}

// connection handles the verbs about a lost connection and a lost memory, and passes others to pause.
func (p *player) connection(verb, rest, line string) error {
	switch verb {
	case "lost":
		return p.out.Checking(true)
	case "back":
		return p.out.Checking(false)
	case "restored":
		text, err := p.out.Restored(p.ctx)
		return errors.Join(err, p.out.Text(text))
	}
	return p.pause(verb, rest, line)
}

// pause handles the verbs that take time. Any other line is answered like a chat.
func (p *player) pause(verb, rest, line string) error {
	switch verb {
	case "wait":
		return p.until(p.fake.gate(rest))
	case "hang":
		return p.until(nil)
	case "slow":
		return p.stream(rest + " every 100ms")
	case "stream":
		return p.stream(rest)
	}
	return p.chat(line)
}

// chat answers a line without a step.
func (p *player) chat(line string) error {
	for _, piece := range []string{"You ", "said: ", line, "\n"} {
		if err := p.out.Text(piece); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) until(gate <-chan struct{}) error {
	select {
	case <-gate:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// stream sends "N every DURATION" deltas.
func (p *player) stream(args string) error {
	count, gap, _ := strings.Cut(args, " every ")
	n, err1 := strconv.Atoi(strings.TrimSpace(count))
	every, err2 := time.ParseDuration(gap)
	if err := errors.Join(err1, err2); err != nil || every <= 0 {
		return p.out.Text(fmt.Sprintf("cannot stream %q\n", args))
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for i := range n {
		if err := p.out.Text(fmt.Sprintf("piece %d ", i+1)); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
	return nil
}

// tool runs "NAME [JSON]".
func (p *player) tool(verb, args string) error {
	name, input, _ := strings.Cut(args, " ")
	p.calls++
	call := agenthost.ToolCall{
		ID: fmt.Sprintf("call_%d", p.calls), Name: name, Input: json.RawMessage(cmp.Or(input, "{}")),
	}
	if err := p.out.ToolCall(call); err != nil {
		return err
	}
	result := agenthost.ToolResult{ID: call.ID, Name: name, Output: json.RawMessage(`{"ok":true}`)}
	switch verb {
	case "toolerr":
		result.Output, result.IsError = json.RawMessage(`{"error":"failed"}`), true
	case "confirm", "expire":
		ctx, cancel := context.WithCancelCause(p.ctx)
		defer cancel(nil)
		if verb == "expire" {
			cancel(agenthost.ErrExpired)
		}
		answer, err := p.out.Confirm(ctx, agenthost.Question{
			Prompt: "Run " + name + "?", ToolCallID: call.ID, ToolName: name, Args: call.Input, Level: "WARN",
		})
		if err != nil {
			return err
		}
		if !answer.Approved {
			result.Output, result.Denied = json.RawMessage(`{"error":"denied"}`), true
		}
	}
	return p.out.ToolResult(result)
}

func (p *player) ask(question string) error {
	answer, err := p.out.Ask(p.ctx, agenthost.Question{Prompt: question})
	switch {
	case err != nil:
		return err
	case answer.Expired:
		return p.out.Text("No answer came.\n")
	default:
		return p.out.Text("You answered: " + answer.Text + "\n")
	}
}
