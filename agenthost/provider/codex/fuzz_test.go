package codex

import (
	"log/slog"
	"strings"
	"testing"

	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/provider/stdio"
)

// Whatever a program prints, every call has a result and every block is closed.
func FuzzHandle(f *testing.F) {
	for _, lines := range []string{
		`{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}` + "\n" +
			`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":"a"}}` + "\n" +
			`{"method":"item/completed","params":{"threadId":"t","turnId":"u",` +
			`"item":{"type":"agentMessage","id":"i","text":"ab"}}}`,
		`{"method":"item/agentMessage/delta","params":{"threadId":"t","delta":"a"}}` + "\n" + // without an item's id
			`{"method":"item/reasoning/textDelta","params":{"threadId":"t","delta":"a"}}`,
		`{"method":"item/started","params":{"item":{"type":"commandExecution","id":"c","command":"ls","cwd":"/"}}}` + "\n" +
			`{"method":"item/completed","params":{"item":{"type":"commandExecution",` +
			`"id":"c","exitCode":1,"aggregatedOutput":"x"}}}`,
		`{"method":"item/started","params":{"item":{"type":"mcpToolCall","id":"c",` +
			`"server":"s","tool":"t","arguments":[]}}}`,
		`{"method":"item/reasoning/summaryTextDelta","params":{"itemId":"r","delta":"a"}}` + "\n" +
			`{"method":"error","params":{"error":{"message":"m"}}}`,
		`{"method":"thread/tokenUsage/updated","params":{"threadId":"t",` +
			`"tokenUsage":{"total":{"totalTokens":9223372036854775807}}}}`,
		`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed","error":{"message":"m"}}}}`,
		"\x00\xff\n[]\n{}\n{\"method\":1}\n{\"id\":null}\n{\"method\":\"item/started\"}\n" +
			"{\"method\":\"item/started\",\"params\":{\"item\":7}}",
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		out := &providertest.Recorder{}
		c := &connection{program: &program{}, child: &stdio.Child{}, waiting: map[string]chan message{}, thread: "t"}
		exchange := c.Begin(stdio.NewTurn(t.Context(), "fuzz", slog.New(slog.DiscardHandler), out)).(*turn)
		for line := range strings.Lines(lines) {
			m, err := c.Decode([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil || m.isRequest() { // a request needs a program that is answered
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
