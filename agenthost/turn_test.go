package agenthost_test

import (
	"fmt"
	"slices"
	"testing"

	"bellhop/protocol"
)

// summary writes events as type and the member that tells them apart.
func summary(events []protocol.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		detail := ""
		switch e.Type {
		case protocol.EventText:
			detail = *e.Text
		case protocol.EventToolCall, protocol.EventToolResult:
			detail = e.ToolCallID
			if e.Denied {
				detail += " denied"
			}
		case protocol.EventFinish:
			detail = string(e.FinishReason) + " " + e.Reason
		case protocol.EventStatus:
			detail = string(e.Status) + " " + e.Reason
		case protocol.EventInteraction:
			detail = string(e.Kind) + " " + string(e.State)
			if e.Answer != nil {
				detail += " " + e.Answer.Reason + e.Answer.Text
			}
		default:
			detail = e.Message + e.Reason
		}
		out[i] = fmt.Sprintf("%d/%d %s %s %s", e.Epoch, e.Seq, e.TurnID, e.Type, detail)
	}
	return out
}

func wantLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}

func TestATurnIsStreamedAndItsEventsReachTheBroker(t *testing.T) {
	r := newRig(t).start()
	frames := r.turn("s1", "t1", say("Hel"), say("lo"), callTool("c1", "ls", `{"p":"."}`), toolResult("c1", `["a"]`), say("Bye"))
	wantLines(t, "parts", types(frames), []string{
		"text-start", "text-delta", "text-delta", "text-end", "tool-call", "tool-result",
		"text-start", "text-delta", "text-end", "finish",
	})
	r.delivered()
	wantLines(t, "events", summary(r.broker.of("s1")), []string{
		"1/1 t1 status busy ", "1/2 t1 text Hello", "1/3 t1 tool-call c1", "1/4 t1 tool-result c1", "1/5 t1 text Bye",
		"1/6 t1 finish stop ", "1/7 t1 status idle ",
	})
}
