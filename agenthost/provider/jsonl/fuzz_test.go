package jsonl

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

// Whatever a program prints, the output sees calls with results and closed
// blocks.
func FuzzHear(f *testing.F) {
	for _, lines := range []string{
		`{"type":"chunk","content":"a"}` + "\n" + `{"type":"message","content":"b"}`,
		`{"type":"tool_start","id":"a","name":"ls","arguments":{}}` + "\n" + `{"type":"tool_message","id":"a","content":"x"}`,
		`{"type":"tool_start","id":"a","name":""}` + "\n" + `{"type":"tool_start","id":"a"}`,
		`{"type":"tool_start","id":"a~2","name":"x"}` + "\n" + `{"type":"tool_start","id":"a","name":"x","arguments":null}` + "\n" + `{"type":"tool_start","id":"a"}`,
		`{"type":"status","level":"error"}` + "\n" + `{"type":"state","state":"waiting_for_input","reason":"error"}`,
		"\x00\xff\n[]\n{}\n{\"type\":1}\n{\"type\":\"chunk\",\"session_id\":\"other\"}",
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		a := &agent{options: Options{Name: "fuzz"}, spec: agenthost.AgentSpec{SessionID: "s1", Log: slog.New(slog.DiscardHandler)}}
		out := &providertest.Recorder{}
		turn := newTurn(context.Background(), a, out)
		defer turn.withdraw(nil)
		for line := range strings.Lines(lines) {
			s := parse([]byte(strings.TrimSuffix(line, "\n")), "s1")
			if s.line.Type == protocol.LineAsk || s.line.Type == protocol.LineConfirm {
				continue // needs a program to answer to
			}
			if outcome, err := turn.hear(s); err != nil || outcome != nil {
				break
			}
		}
		turn.whole(agenthost.Outcome{})
		out.Finish()
		if broken := out.Broken(true); len(broken) > 0 {
			t.Errorf("the contract is broken: %q", broken)
		}
	})
}
