package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"bellhop/protocol"
)

// slowDelay is the pause before each piece of "slow N".
const slowDelay = 100 * time.Millisecond

// errAsked is the error of the command "fail".
var errAsked = errors.New("the demo agent failed because it was asked to")

// demo is the scripted completer. It has no state: the next step follows from the last prompt
// and the tool results after it.
type demo struct{ delay time.Duration }

// textBlock is text in pieces and the pause before each piece.
type textBlock struct {
	pieces []string
	delay  time.Duration
}

// completion is the result of one Complete call.
type completion struct {
	blocks []textBlock
	call   *ToolCall
	err    error
}

// Complete emits text, then a tool call or an error, or nothing to end the turn.
func (d *demo) Complete(ctx context.Context, conversation []Message, _ []ToolSpec) iter.Seq2[Delta, error] {
	next := d.next(conversation)
	return func(yield func(Delta, error) bool) {
		for _, textBlock := range next.blocks {
			for _, piece := range textBlock.pieces {
				if err := pause(ctx, textBlock.delay); err != nil {
					yield(Delta{}, err)
					return
				}
				if !yield(Delta{Text: piece}, nil) {
					return
				}
			}
		}
		switch {
		case next.err != nil:
			yield(Delta{}, next.err)
		case next.call != nil:
			yield(Delta{Call: next.call}, nil)
		}
	}
}

func pause(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next reports the newest tool result and continues with the steps after it.
func (d *demo) next(conversation []Message) completion {
	prompt, results := lastTurn(conversation)
	steps := parse(prompt.Text)
	var c completion
	at := 0
	for ; at < len(steps) && len(results) > 0; at++ {
		if steps[at].call() == nil {
			continue
		}
		if len(results) == 1 {
			c.addText(d.delay, report(steps[at], prompt, results[0]))
		}
		results = results[1:]
	}
	for ; at < len(steps) && c.call == nil && c.err == nil; at++ {
		d.begin(&c, steps[at])
	}
	return c
}

// lastTurn returns the newest prompt and the tool results after it.
func lastTurn(conversation []Message) (prompt Message, results []Message) {
	for i := len(conversation) - 1; i >= 0; i-- {
		switch conversation[i].Role {
		case RoleUser:
			return conversation[i], results
		case RoleTool:
			results = append([]Message{conversation[i]}, results...)
		case RoleAssistant, RoleSystem:
		}
	}
	return Message{}, results
}

// addText adds a paragraph.
func (c *completion) addText(delay time.Duration, text string) {
	c.add(textBlock{split(text), delay})
}

func (c *completion) add(s textBlock) {
	if len(c.blocks) > 0 {
		s.pieces[0] = "\n\n" + s.pieces[0]
	}
	c.blocks = append(c.blocks, s)
}

// begin announces a step and sets its call.
func (d *demo) begin(c *completion, s step) {
	c.call = s.call()
	switch s.verb {
	case "list":
		c.addText(d.delay, "I will look at what the directory holds.")
	case "read":
		c.addText(d.delay, fmt.Sprintf("I will read %s for you.", code(s.args[0])))
	case "write":
		c.addText(d.delay, fmt.Sprintf("I will write %s, if you allow it.", code(strings.TrimSpace(s.args[0]))))
	case "run":
		c.addText(d.delay, fmt.Sprintf("I will run %s, if you allow it.", code(s.args[0])))
	case "ask":
		c.addText(d.delay, "I have a question for you.")
	case "slow":
		d.slow(c, s)
	case "fail":
		c.addText(d.delay, "You asked me to fail, so this turn ends with an error.")
		c.err = protocol.Errorf(protocol.CodeInternal, "%v", errAsked)
	case "help":
		c.addText(d.delay, help())
	default:
		c.addText(d.delay, "I will look around in the working directory.")
	}
}

// slow counts in N pieces, but at least minPieces, like every other text.
func (d *demo) slow(c *completion, s step) {
	n, ok := s.pieces()
	if !ok {
		c.addText(d.delay, fmt.Sprintf("I can count slowly from 1 to at most %d.", maxSlow))
		return
	}
	pieces := make([]string, n)
	for i := range pieces {
		pieces[i] = fmt.Sprintf("%d ", i+1)
	}
	for len(pieces) < minPieces {
		pieces = append(pieces, []string{"and ", "that ", "is all."}[len(pieces)-n])
	}
	pieces[len(pieces)-1] = strings.TrimSpace(pieces[len(pieces)-1])
	c.add(textBlock{pieces, slowDelay})
}

func help() string {
	var text strings.Builder
	text.WriteString("I am the demo agent: a script, not a language model. I understand\n\n")
	for _, c := range Commands() {
		fmt.Fprintf(&text, "- `%s`: %s\n", c.Usage, c.Help)
	}
	text.WriteString("\nSeveral commands, one a line or joined by ` then `, run in order.")
	return text.String()
}

// code returns s as inline code on one line, shortened.
func code(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "`", "'")
	if runes := []rune(s); len(runes) > 80 {
		s = string(runes[:80]) + "…"
	}
	return "`" + s + "`"
}
