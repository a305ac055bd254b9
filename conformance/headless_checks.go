package conformance

import (
	"fmt"
	"io"
	"strings"

	"bellhop/protocol"
)

func checkTurn(s *scope, h *headless) {
	p := h.start(s)
	p.input(h.options.Plain)
	if lines := p.finish(true, protocol.WaitingDone); len(lines) < 2 {
		p.failf("the turn of %q had no text", h.options.Plain)
	}
}

func checkText(s *scope, h *headless) {
	p := h.start(s)
	p.input(h.options.Plain)
	var block strings.Builder
	chunks := 0
	for _, line := range p.finish(true, protocol.WaitingDone) {
		switch line.Type {
		case protocol.LineChunk:
			chunks++
			block.WriteString(*line.Content)
		case protocol.LineMessage:
			if block.Len() > 0 && block.String() != *line.Content {
				p.failf("the chunks say %q, their message %q", brief(block.String()), brief(*line.Content))
			}
			chunks++
			block.Reset()
		case protocol.LineStatus:
		default:
			block.Reset()
		}
	}
	if chunks == 0 {
		p.failf("the turn of %q had no text", h.options.Plain)
	}
}

func checkSession(s *scope, h *headless) {
	p := h.start(s)
	p.send(fmt.Sprintf(`{"type":"input","text":%q,"session_id":"conformance-1"}`, h.options.Plain))
	for _, line := range p.finish(true, protocol.WaitingDone) {
		if line.SessionID != "conformance-1" {
			p.stopf("%s has the session_id %q instead of the bound one", outline(&line), line.SessionID)
		}
	}
	p.send(fmt.Sprintf(`{"type":"input","text":%q,"session_id":"conformance-2"}`, h.options.Plain))
	p.refused("another session's id")
	p.silent("another session's id")
	p.input(h.options.Plain)
	p.finish(true, protocol.WaitingDone)
}

func confirmCheck(yes bool) func(*scope, *headless) {
	return func(s *scope, h *headless) {
		s.needs(h.options.Confirm)
		p := h.start(s)
		p.input(h.options.Confirm)
		q := p.question(protocol.LineConfirm, h.options.Confirm)
		p.reply(q, yes)
		failed, results := 0, 0
		for _, line := range p.finish(yes, protocol.WaitingDone) {
			if line.Type == protocol.LineToolMessage {
				results++
				if line.IsError {
					failed++
				}
			}
		}
		if !yes && results > 0 && failed == 0 {
			p.failf("the call was denied and its tool_message is no error")
		}
	}
}

func checkAsk(s *scope, h *headless) {
	s.needs(h.options.Ask)
	p := h.start(s)
	p.input(h.options.Ask)
	p.reply(p.question(protocol.LineAsk, h.options.Ask), true)
	p.finish(true, protocol.WaitingDone)
}

func checkRequestIDs(s *scope, h *headless) {
	s.needs(h.options.Confirm)
	p := h.start(s)
	p.send(`{"type":"answer","request_id":"no-such-question","text":"x"}`)
	p.refused("an answer to nothing")
	p.input(h.options.Confirm)
	q := p.question(protocol.LineConfirm, h.options.Confirm)
	for what, line := range map[string]string{
		"an unknown request_id":  `{"type":"confirmation","request_id":"unknown","value":true}`,
		"no request_id":          `{"type":"confirmation","value":true}`,
		"an answer to a confirm": fmt.Sprintf(`{"type":"answer","request_id":%q,"text":"x"}`, q.RequestID),
		"no value":               fmt.Sprintf(`{"type":"confirmation","request_id":%q}`, q.RequestID),
	} {
		p.send(line)
		p.refused(what)
	}
	p.silent("refused answers")
	p.reply(q, true)
	p.finish(true, protocol.WaitingDone)
	p.reply(q, true)
	p.refused("a second answer")
}

func checkInterrupt(s *scope, h *headless) {
	s.needs(h.options.Slow)
	p := h.start(s)
	p.input(h.options.Slow)
	if first := p.next("sign of the turn"); first.State == protocol.StateWaitingForInput {
		p.stopf("the input %q does not keep the program busy: give it another (see --help)", h.options.Slow)
	}
	p.send(`{"type":"interrupt"}`)
	p.finish(true, protocol.WaitingInterrupted)
	p.input(h.options.Plain)
	p.finish(true, protocol.WaitingDone)
}

func checkInterruptQuestion(s *scope, h *headless) {
	s.needs(h.options.Confirm)
	p := h.start(s)
	p.input(h.options.Confirm)
	q := p.question(protocol.LineConfirm, h.options.Confirm)
	p.send(`{"type":"interrupt"}`)
	p.finish(false, protocol.WaitingInterrupted)
	p.reply(q, true)
	p.refused("an answer after the interrupt")
}

func checkIdleInterrupts(s *scope, h *headless) {
	p := h.start(s)
	p.send(strings.TrimSuffix(strings.Repeat("{\"type\":\"interrupt\"}\n", 1000), "\n"))
	p.silent("interrupts while nothing runs")
	p.input(h.options.Plain)
	p.finish(true, protocol.WaitingDone)
}

func checkBusy(s *scope, h *headless) {
	s.needs(h.options.Confirm)
	p := h.start(s)
	p.input(h.options.Confirm)
	q := p.question(protocol.LineConfirm, h.options.Confirm)
	p.input(h.options.Plain)
	p.refused("an input while one runs")
	p.reply(q, true)
	p.finish(true, protocol.WaitingDone)
}

func checkMalformed(s *scope, h *headless) {
	p := h.start(s)
	for what, line := range map[string]string{
		"no JSON":                  `nonsense`,
		"half a line":              `{"type":"input","text":`,
		"a list":                   `[1,2]`,
		"no type":                  `{"text":"x"}`,
		"an unknown type":          `{"type":"dance"}`,
		"an agent's type":          `{"type":"chunk","content":"x"}`,
		"an input of nothing":      `{"type":"input"}`,
		"a text that is a number":  `{"type":"input","text":1}`,
		"an image that is no data": `{"type":"input","attachments":[{"type":"image","data":"%%%"}]}`,
		"invalid UTF-8":            "{\"type\":\"input\",\"text\":\"\xff\xfe\"}",
		"deep nesting":             `{"type":"input","text":` + strings.Repeat("[", 100_000),
	} {
		p.send(line)
		p.refused(what)
	}
	p.silent("malformed input")
	p.input(h.options.Plain)
	p.finish(true, protocol.WaitingDone)
}

func checkOverlong(s *scope, h *headless) {
	p := h.start(s)
	if _, err := io.WriteString(p.in, `{"type":"input","text":"`); err != nil {
		p.stopf("the program does not read its input: %v", err)
	}
	piece := strings.Repeat("x", 1<<20)
	for range protocol.MaxLine>>20 + 1 {
		if _, err := io.WriteString(p.in, piece); err != nil {
			p.stopf("the program stops reading in an overlong line: %v%s", err, p.lastLog())
		}
	}
	p.send(`"}`)
	p.refused("a line over 12 MiB")
	p.input(h.options.Plain)
	p.finish(true, protocol.WaitingDone)
}

func checkEnd(s *scope, h *headless) {
	p := h.start(s)
	p.input(h.options.Plain)
	p.finish(true, protocol.WaitingDone)
	p.exit()
}

func checkEndQuestion(s *scope, h *headless) {
	s.needs(h.options.Confirm)
	p := h.start(s)
	p.input(h.options.Confirm)
	p.question(protocol.LineConfirm, h.options.Confirm)
	_ = p.in.Close()
	for p.next("waiting_for_input").State != protocol.StateWaitingForInput {
	}
	p.exit()
}

func checkStdout(s *scope, h *headless) {
	for i, what := range h.invalidLines {
		if i == 5 {
			s.failf("… and %d more", len(h.invalidLines)-i)
			return
		}
		s.failf("%s", what)
	}
}
