package jsonl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// noticed is how many unusable lines of a turn are shown one by one; the rest
// is counted.
const noticed = 3

// turn maps what the program says to an Output. Its methods are called by the
// goroutine of Run, save those of question.go.
type turn struct {
	agent   *agent
	program *program // changed by revive alone, under agent.mu
	prompt  agenthost.Prompt
	reused  bool // the program ran before and has said nothing of this turn
	out     agenthost.Output

	said      chan saying
	failed    chan error    // an Output failed in a question
	interrupt chan struct{} // closed by Agent.Interrupt
	stopOnce  sync.Once
	done      chan struct{} // closed when Run returns

	asking    context.Context // of the open questions
	withdraw  context.CancelCauseFunc
	questions sync.WaitGroup

	calls []*call

	mu   sync.Mutex      // open, and denied of the calls
	open map[string]bool // request ids of open questions

	garbage   int
	lastError string // of a status line
	usage     string // of the newest message: what the turn has cost so far
}

// call is a tool call of this turn.
type call struct {
	id       string // unique in the turn
	agentID  string
	name     string
	input    json.RawMessage
	answered bool
	denied   bool
}

func newTurn(ctx context.Context, a *agent, out agenthost.Output) *turn {
	t := &turn{
		agent:     a,
		program:   a.program,
		out:       out,
		said:      make(chan saying),
		failed:    make(chan error, 1),
		interrupt: make(chan struct{}),
		done:      make(chan struct{}),
		open:      map[string]bool{},
	}
	t.asking, t.withdraw = context.WithCancelCause(ctx)
	return t
}

// tell gives the program the prompt. One that was just started, and has no memory
// of its own, hears first what was said before.
func (t *turn) tell(ctx context.Context) {
	before := ""
	if t.agent.options.Restore && !t.reused {
		var err error
		if before, err = t.out.Restored(ctx); err != nil {
			t.broken(err)
			return
		}
	}
	input, err := t.agent.input(t.prompt, before)
	if err != nil {
		t.broken(err)
		return
	}
	t.program.send(ctx, input)
}

// broken ends the turn for something that no Output call of play has met.
func (t *turn) broken(err error) {
	select {
	case t.failed <- err:
	default:
	}
}

// play returns when the turn is over, whoever ended it.
func (t *turn) play(ctx context.Context) agenthost.Outcome {
	defer func() {
		t.withdraw(nil)
		t.questions.Wait()
	}()
	for {
		select {
		case s := <-t.said:
			t.reused = false
			outcome, err := t.hear(s)
			switch {
			case err != nil:
				return t.stop(ctx, err)
			case outcome != nil:
				return t.whole(*outcome)
			}
		case err := <-t.failed:
			return t.stop(ctx, err)
		case <-t.interrupt:
			return t.stop(ctx, nil)
		case <-ctx.Done():
			return t.stop(ctx, ctx.Err())
		case <-t.program.ended:
			if !t.agent.revive(ctx, t) {
				return t.exited()
			}
		}
	}
}

// stop ends the turn by the agent's own cancel, or else with its program. What
// the agent says meanwhile counts, unless nobody can take it (broken).
func (t *turn) stop(ctx context.Context, broken error) agenthost.Outcome {
	t.withdraw(nil)
	t.program.interrupt(t.agent.spec.SessionID)
	grace := time.NewTimer(t.program.grace)
	defer grace.Stop()
	for over := false; !over; {
		select {
		case s := <-t.said:
			over = s.line.Type == protocol.LineState && s.line.State == protocol.StateWaitingForInput
			question := s.line.Type == protocol.LineAsk || s.line.Type == protocol.LineConfirm
			if broken == nil && !question {
				_, broken = t.hear(s)
			}
		case <-grace.C:
			t.agent.spec.Log.Warn("agent ignores the interrupt", "agent", t.agent.options.Name)
			go t.program.signal(context.WithoutCancel(ctx))
		case <-t.program.ended:
			over = true
		}
	}
	if broken == nil {
		_ = t.out.EndText("")
		t.reportGarbage()
	}
	return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
}

// exited is the outcome when the program has ended by itself.
func (t *turn) exited() agenthost.Outcome {
	t.agent.spec.Log.Warn("agent exited during a turn", "agent", t.agent.options.Name)
	t.withdraw(agenthost.ErrExpired)
	return t.whole(agenthost.Outcome{
		FinishReason: protocol.FinishError,
		Reason:       protocol.ReasonAgentExited,
		Err:          t.program.epitaph(t.agent.options.Name),
	})
}

// whole leaves no block open and no call without a result.
func (t *turn) whole(outcome agenthost.Outcome) agenthost.Outcome {
	t.withdraw(nil)
	t.questions.Wait()
	err := t.out.EndText("")
	for _, c := range t.calls {
		if !c.answered && err == nil {
			err = t.result(c, "the agent gave no result", true)
		}
	}
	t.reportGarbage()
	return outcome
}

// hear maps one line; an outcome ends the turn.
func (t *turn) hear(s saying) (*agenthost.Outcome, error) {
	if s.garbage != "" {
		t.skip(s.garbage)
		return nil, nil
	}
	line := &s.line
	switch line.Type {
	case protocol.LineChunk:
		if content(line) == "" {
			return nil, nil
		}
		return nil, t.out.Text(content(line))
	case protocol.LineMessage:
		t.usage = cmp.Or(usageOf(line.Metadata), t.usage)
		return nil, t.out.EndText(content(line))
	case protocol.LineStatus:
		if line.Level == "error" {
			t.lastError = line.Message
		}
		t.out.Notice(cmp.Or(line.Level, "info"), line.Message)
		return nil, nil
	case protocol.LineToolMessage:
		return nil, t.toolMessage(line)
	}
	return t.boundary(line)
}

// boundary maps the lines that close a text block.
func (t *turn) boundary(line *protocol.Line) (*agenthost.Outcome, error) {
	switch line.Type {
	case protocol.LineToolStart, protocol.LineAsk, protocol.LineConfirm, protocol.LineState:
	default:
		t.skip(fmt.Sprintf("a message of the unknown type %.40q", line.Type))
		return nil, nil
	}
	if err := t.out.EndText(""); err != nil {
		return nil, err
	}
	switch line.Type {
	case protocol.LineToolStart:
		return nil, t.toolStart(line)
	case protocol.LineAsk, protocol.LineConfirm:
		t.question(line)
		return nil, nil
	}
	if line.State != protocol.StateWaitingForInput {
		return nil, nil
	}
	outcome := t.outcome(line.Reason)
	if t.usage != "" {
		outcome.Usage = json.RawMessage(t.usage)
	}
	return outcome, nil
}

// usageOf is the usage object in a message's metadata, "" without one.
func usageOf(metadata json.RawMessage) string {
	var known struct {
		Usage map[string]json.RawMessage `json:"usage"`
	}
	if json.Unmarshal(metadata, &known) != nil || known.Usage == nil {
		return ""
	}
	usage, err := json.Marshal(known.Usage)
	if err != nil {
		return ""
	}
	return string(usage)
}

func (t *turn) outcome(reason string) *agenthost.Outcome {
	switch reason {
	case protocol.WaitingInterrupted:
		return &agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
	case protocol.WaitingError:
		return &agenthost.Outcome{FinishReason: protocol.FinishError, Err: cmp.Or(t.lastError, "The agent reports an error")}
	default:
		return &agenthost.Outcome{FinishReason: protocol.FinishStop}
	}
}

func (t *turn) toolStart(line *protocol.Line) error {
	c := &call{id: line.ID, agentID: line.ID, name: cmp.Or(line.Name, "tool"), input: line.Arguments}
	if len(c.input) == 0 || string(c.input) == "null" {
		c.input = json.RawMessage("{}")
	}
	// Some agents number their calls anew in every step.
	for n := 2; c.id == "" || t.known(c.id); n++ {
		c.id = fmt.Sprintf("%s~%d", cmp.Or(line.ID, "call"), n)
	}
	t.calls = append(t.calls, c)
	return t.out.ToolCall(agenthost.ToolCall{ID: c.id, Name: c.name, Input: c.input})
}

func (t *turn) known(id string) bool {
	for _, c := range t.calls {
		if c.id == id {
			return true
		}
	}
	return false
}

func (t *turn) toolMessage(line *protocol.Line) error {
	for i := len(t.calls) - 1; i >= 0; i-- {
		if c := t.calls[i]; c.agentID == line.ID && !c.answered {
			return t.result(c, content(line), line.IsError)
		}
	}
	t.skip("a tool result without its call")
	return nil
}

func (t *turn) result(c *call, text string, isError bool) error {
	c.answered = true
	t.mu.Lock()
	denied := c.denied
	t.mu.Unlock()
	output, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return t.out.ToolResult(agenthost.ToolResult{
		ID: c.id, Name: c.name, Output: output, IsError: isError && !denied, Denied: denied,
	})
}

// skip reports a line that cannot be used; what it says is not for the log.
func (t *turn) skip(what string) {
	t.garbage++
	if t.garbage <= noticed {
		t.agent.spec.Log.Warn("agent sent an unusable line", "agent", t.agent.options.Name)
		t.out.Notice("warning", "The agent sent "+what)
	}
}

func (t *turn) reportGarbage() {
	if more := t.garbage - noticed; more > 0 {
		t.agent.spec.Log.Warn("agent sent more unusable lines", "agent", t.agent.options.Name, "count", more)
		t.out.Notice("warning", fmt.Sprintf("The agent sent %d further unusable lines", more))
	}
}

func content(line *protocol.Line) string {
	if line.Content == nil {
		return ""
	}
	return *line.Content
}
