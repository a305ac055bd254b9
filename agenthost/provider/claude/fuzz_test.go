package claude

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/provider/stdio"
)

// Whatever a program prints, every call has a result and every block is closed.
func FuzzHandle(f *testing.F) {
	for _, lines := range []string{
		`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a"},` +
			`{"type":"tool_use","id":"c","name":"Bash","input":{}}]}}` +
			"\n" + `{"type":"user","message":{"content":[{"type":"tool_result",` +
			`"tool_use_id":"c","content":"x","is_error":true}]}}`,
		`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}}`,
		`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"a"}}}`,
		`{"type":"system","subtype":"init","session_id":"s"}` + "\n" +
			`{"type":"result","subtype":"success","usage":{"input_tokens":1}}`,
		`{"type":"assistant","message":{"content":"text"}}` + "\n" + `{"type":"user","message":{"content":null}}`,
		`{"type":"control_response","response":{"request_id":"initialize"}}` + "\n" +
			`{"type":"control_cancel_request","request_id":"x"}`,
		`{"type":"control_request","request_id":"x","request":{"subtype":"hook_callback"}}`,
		"\x00\xff\n[]\n{}\n{\"type\":1}\n{\"type\":\"user\"}\n{\"type\":\"result\"}\n" +
			"{\"type\":\"stream_event\",\"event\":null}",
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		out := &providertest.Recorder{}
		p := &program{}
		p.options.FollowUp = time.Hour
		c := &connection{program: p, child: &stdio.Child{}, ready: make(chan struct{})}
		c.deliver = func(message) bool { return true }
		exchange := c.Begin(stdio.NewTurn(t.Context(), "fuzz", slog.New(slog.DiscardHandler), out)).(*turn)
		for line := range strings.Lines(lines) {
			m, err := c.Decode([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil || m.Type == "control_request" { // a request needs a program that is answered
				continue
			}
			if outcome, err := exchange.Handle(m); err != nil || outcome != nil {
				break
			}
		}
		if exchange.followUp != nil {
			exchange.followUp.timer.Stop()
		}
		exchange.CloseOut(exchange.Close)
		out.Finish()
		if broken := out.Broken(true); len(broken) > 0 {
			t.Errorf("the contract is broken: %q", broken)
		}
	})
}
