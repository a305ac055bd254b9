package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellhop/protocol"
)

// HeadlessOptions are the command and the inputs for it. The default inputs are for Bellhop's
// demo agent; other agents need others. The input "-" skips the checks that need it.
type HeadlessOptions struct {
	Command  []string
	Dir      string        // working directory
	Plain    string        // makes it respond: "list"
	Confirm  string        // makes it ask for a permission: "write conformance.txt: hello"
	Ask      string        // makes it ask a question: "ask Which colour?"
	Slow     string        // keeps it busy for seconds: "slow 100"
	Patience time.Duration // how long to wait for an expected line: 30 s

	only []string // names of the checks to run; none = all
}

func (o *HeadlessOptions) fill() {
	o.Plain = cmp.Or(o.Plain, "list")
	o.Confirm = cmp.Or(o.Confirm, "write conformance.txt: hello")
	o.Ask = cmp.Or(o.Ask, "ask Which colour?")
	o.Slow = cmp.Or(o.Slow, "slow 100")
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
}

// headless is the subject of the checks.
type headless struct {
	options      HeadlessOptions
	invalidLines []string // from all programs so far
}

func (h *headless) collectFrom(p *program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, what := range p.invalidLines {
		if !slices.Contains(h.invalidLines, what) {
			h.invalidLines = append(h.invalidLines, what)
		}
	}
}

// Headless starts a program for every check and reports whether it implements protocol section
// 4 on stdio.
func Headless(ctx context.Context, options HeadlessOptions) *Report {
	options.fill()
	subject := "headless: " + strings.Join(options.Command, " ")
	return perform(ctx, subject, &headless{options: options}, options.only, []check[*headless]{
		{"a turn", "an input is answered and ends in one waiting_for_input with reason done", checkTurn},
		{"text and its message", "a message repeats the chunks since the last boundary, and wins", checkText},
		{"the session id", "the first session_id binds the session and is echoed; another one changes nothing", checkSession},
		{
			"a permission that is given", "confirm carries a request_id, waits for its confirmation, and the turn goes on",
			confirmCheck(true),
		},
		{
			"a permission that is denied", "the call does not happen, its tool_message is an error, the turn ends",
			confirmCheck(false),
		},
		{"a question", "ask carries a request_id, waits for its answer, and the turn goes on", checkAsk},
		{
			"answers to nothing",
			"an unknown or answered request_id, or the wrong type of answer, gets a status error and changes nothing",
			checkRequestIDs,
		},
		{"an interrupt", "interrupt ends the turn at once, with reason interrupted; the next input works", checkInterrupt},
		{
			"an interrupt with a question open", "the question goes, the turn ends with reason interrupted",
			checkInterruptQuestion,
		},
		{"interrupts while nothing runs", "they change nothing, however many they are", checkIdleInterrupts},
		{"an input while one runs", "it gets a status error and changes nothing", checkBusy},
		{"malformed input", "what is no line gets a status error and changes nothing", checkMalformed},
		{"a line over 12 MiB", "it is refused, and the next line is read", checkOverlong},
		{"the end of input", "the program ends with exit code 0", checkEnd},
		{
			"the end of input with a question open", "the question is denied, the turn ends, the exit code is 0",
			checkEndQuestion,
		},
		{"stdout", "it carries lines of section 4 alone; logs go to stderr", checkStdout},
	})
}

// input sends an input line.
func (p *program) input(text string) {
	raw, err := json.Marshal(protocol.Line{Type: protocol.LineInput, Text: &text})
	if err != nil {
		p.stopf("encode: %v", err)
	}
	p.send(string(raw))
}

// reply answers a question.
func (p *program) reply(q protocol.Line, yes bool) {
	if q.Type == protocol.LineAsk {
		p.send(fmt.Sprintf(`{"type":"answer","request_id":%q,"text":"blue"}`, q.RequestID))
		return
	}
	p.send(fmt.Sprintf(`{"type":"confirmation","request_id":%q,"value":%t}`, q.RequestID, yes))
}

// finish reads to the end of the turn, answers its questions, and checks that the turn ends
// once.
func (p *program) finish(yes bool, reason string) (lines []protocol.Line) {
	for {
		line := p.next("waiting_for_input")
		lines = append(lines, line)
		if line.Type == protocol.LineAsk || line.Type == protocol.LineConfirm {
			p.reply(line, yes)
		}
		if line.State == protocol.StateWaitingForInput {
			if line.Reason != reason {
				p.failf("waiting_for_input has reason %q, not %q", line.Reason, reason)
			}
			p.silent("waiting_for_input")
			return lines
		}
	}
}

// question reads up to a question of the kind. If the turn ends first, the check stops.
func (p *program) question(kind, text string) protocol.Line {
	for {
		line := p.next(kind)
		switch {
		case line.Type == kind:
			p.silent("an open question")
			return line
		case line.State == protocol.StateWaitingForInput:
			p.stopf("the input %q made the program ask nothing: give it another (see --help)", text)
		}
	}
}

// refused expects a status error and nothing else.
func (p *program) refused(what string) {
	line := p.next("status error about " + what)
	if line.Type != protocol.LineStatus || line.Level != "error" {
		p.failf("%s: got %s instead of a status error", what, outline(&line))
	}
}

// needs skips a check whose input is "-".
func (s *scope) needs(input string) {
	if input == "-" {
		s.skip("there is no input for it")
	}
}
