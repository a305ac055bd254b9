package jsonl

import (
	"log/slog"
	"strings"
	"testing"

	"bellhop/agenthost/provider/providertest"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// Whatever a program prints, every call has a result and every block is closed.
func FuzzHandle(f *testing.F) {
	for _, lines := range []string{
		`{"type":"chunk","content":"a"}` + "\n" + `{"type":"message","content":"b"}`,
		`{"type":"tool_start","id":"a","name":"ls","arguments":{}}` + "\n" + `{"type":"tool_message","id":"a","content":"x"}`,
		`{"type":"tool_start","id":"a","name":""}` + "\n" + `{"type":"tool_start","id":"a"}`,
		`{"type":"tool_start","id":"a~2","name":"x"}` + "\n" + `{"type":"tool_start","id":"a","name":"x","arguments":null}` +
			"\n" + `{"type":"tool_start","id":"a"}`,
		`{"type":"status","level":"error"}` + "\n" + `{"type":"state","state":"waiting_for_input","reason":"error"}`,
		"\x00\xff\n[]\n{}\n{\"type\":1}\n{\"type\":\"chunk\",\"session_id\":\"other\"}",
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		out := &providertest.Recorder{}
		turn := newTurn(stdio.NewTurn(t.Context(), "fuzz", slog.New(slog.DiscardHandler), out), &connection{sessionID: "s1"})
		for line := range strings.Lines(lines) {
			message, err := turn.connection.Decode([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil {
				turn.Skip(err.Error())
				continue
			}
			if message.Type == protocol.LineAsk || message.Type == protocol.LineConfirm {
				continue // this line needs a program to answer
			}
			if outcome, err := turn.Handle(message); err != nil || outcome != nil {
				break
			}
		}
		turn.CloseOut(turn.Close)
		out.Finish()
		if broken := out.Broken(true); len(broken) > 0 {
			t.Errorf("the contract is broken: %q", broken)
		}
	})
}
