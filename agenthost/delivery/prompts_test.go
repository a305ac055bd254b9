package delivery_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// turns are events of 100 bytes, two of each turn.
func turns(names ...string) (events []core.EventRecord) {
	for i, turn := range names {
		for j := range 2 {
			events = append(events, core.EventRecord{
				TurnID: turn, Cursor: protocol.Cursor{Epoch: 1, Seq: int64(2*i + j + 1)},
				Body: json.RawMessage(strings.Repeat("x", 100)),
			})
		}
	}
	return events
}

func asked(texts map[string]string) map[string]protocol.TurnPrompt {
	prompts := map[string]protocol.TurnPrompt{}
	for turn, text := range texts {
		prompts[turn] = protocol.TurnPrompt{TurnID: turn, Text: text}
	}
	return prompts
}

func TestPromptsGoWithTheEventsThatFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é\x01", 4000) // in JSON a control character takes six bytes
	for _, c := range []struct {
		name    string
		prompts map[string]string
		room    int
		want    string
	}{
		{"all fit", map[string]string{"a": "one", "b": "two"}, 2000, "4 events a:3 b:3"},
		{"a turn without a prompt", map[string]string{"b": "two"}, 2000, "4 events b:3"},
		{"the second turn waits", map[string]string{"a": "one", "b": long}, 2000, "2 events a:3"},
		{"the first is cut", map[string]string{"a": long}, 2000, "2 events a:cut"},
		{"there is no room for it", map[string]string{"a": long}, 120, "1 events"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, prompts := delivery.FitPrompts(turns("a", "b"), asked(c.prompts), c.room)
			got, size := fmt.Sprint(len(events), " events"), 0
			for _, p := range prompts {
				raw, err := protocol.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				size += len(raw)
				if p.Truncated {
					got += " " + p.TurnID + ":cut"
				} else {
					got += fmt.Sprint(" ", p.TurnID, ":", len(p.Text))
				}
			}
			if got != c.want {
				t.Errorf("got %q", got)
			}
			if size+101*len(events) > c.room {
				t.Errorf("%d bytes in room for %d", size+101*len(events), c.room)
			}
		})
	}
}

// Only events that are sent again to a named broker have prompts; one event with a prompt is a
// batch too.
func TestEventsThatAreSentAgainHavePrompts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		named  bool
		resend int64
		want   string
	}{
		{
			"sent again", true,
			1, `{"sessionId":"s1","events":["one"],"prompts":[{"turnId":"a","text":"go","at":"0001-01-01T00:00:00Z"}]}`,
		},
		{"sent for the first time", true, 0, `"one"`},
		{"a plain broker", false, 1, `"one"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{
				orders: []delivery.Order{{
					Job: core.JobSend, SessionID: "s1", URL: hook, Limit: 1,
					BrokerID: brokerID(c.named), NamedAnswers: c.named, Resend: protocol.Cursor{Epoch: 1, Seq: c.resend},
				}},
				events: []core.EventRecord{
					{TurnID: "a", Cursor: protocol.Cursor{Epoch: 1, Seq: 1}, Body: json.RawMessage(`"one"`)},
				},
				prompts: asked(map[string]string{"a": "go"}),
			}
			s.responses = append(s.responses, respond(200, `{"success":true,"cursor":{"epoch":1,"seq":1},"incarnation":"i2"}`))
			delivery.NewSender(s, seal.NewSecret("pass"), time.Now).Run(t.Context(), s)
			if len(s.bodies) != 1 || s.bodies[0] != c.want {
				t.Errorf("posted %q", s.bodies)
			}
			if in, ok := s.inputs[0].(core.DeliveryAccepted); !ok || in.Incarnation != "i2" {
				t.Errorf("the input is %+v", s.inputs[0])
			}
		})
	}
}
