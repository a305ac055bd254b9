package acp

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/provider/stdio"
)

// Whatever a program prints, every call has a result and every block is closed.
func FuzzHandle(f *testing.F) {
	const head = `{"jsonrpc":"2.0","method":"session/update","params":{"update":`
	for _, updates := range [][]string{
		{`{"sessionUpdate":"agent_message_chunk",` +
			`"content":{"type":"text","text":"a"}}`, `{"sessionUpdate":"plan","entries":[{}]}`},
		{`{"sessionUpdate":"agent_thought_chunk",` +
			`"content":{"type":"image","data":"x"}}`, `{"sessionUpdate":"usage_update","used":-1}`},
		{
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute",` +
				`"status":"pending","rawInput":{"a":1}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed",` +
				`"content":[{"type":"diff","path":"a"}]}`,
		},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"","status":"failed","locations":[{}],"content":7}`},
		{`null`, `[]`, `{"sessionUpdate":null}`, `{"sessionUpdate":"tool_call","toolCallId":null}`},
	} {
		f.Add(head + strings.Join(updates, "}}\n"+head) + "}}")
	}
	f.Add("\x00\xff\n[]\n{}\n{\"method\":1}\n{\"id\":7}\n{\"method\":\"session/update\"}")
	f.Fuzz(func(t *testing.T, lines string) {
		out := &providertest.Recorder{}
		read, write := io.Pipe()
		defer read.Close()
		go func() { _, _ = io.Copy(io.Discard, read) }()
		c := &connection{program: &program{}, child: &stdio.Child{}, responses: write, updated: make(chan struct{}, 1)}
		exchange := c.Begin(stdio.NewTurn(t.Context(), "fuzz", slog.New(slog.DiscardHandler), out)).(*turn)
		for line := range strings.Lines(lines) {
			m, err := c.Decode([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil {
				continue
			}
			if outcome, err := exchange.Handle(m); err != nil || outcome != nil {
				break
			}
		}
		exchange.CloseOut(exchange.Close)
		out.Finish()
		if broken := out.Broken(true); len(broken) > 0 {
			t.Errorf("the contract is broken: %q", broken)
		}
	})
}
