package agenthost_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// The host's journal is restored from an older copy while the broker holds later
// events. The old unacknowledged events are duplicates for the broker, whose
// cursor is ahead of them; the events the restored host made since then must
// still arrive, whatever the size of a request.
func TestAReceiptAcknowledgesOnlyWhatWasSent(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 3, 100} {
		t.Run(fmt.Sprint("at most ", size, " events a request"), func(t *testing.T) {
			r := newRig(t).start()
			r.broker.refuseAll(true)
			gate := make(chan struct{})
			r.startNew("s1", "t1", writeText("one"), endText(""), writeText("two"), endText(""), wait(gate), writeText("three"),
				endText(""), writeText("four"))
			r.until("two texts are journaled", func() bool { return r.cursor("s1").Seq == 3 })
			backup := r.copyJournal()
			r.broker.refuseAll(false)
			close(gate)
			r.until("the turn is over", func() bool { return r.cursor("s1").Seq == 7 })
			r.delivered()
			before := summary(r.broker.of("s1"))
			r.stop()

			r.broker.refuse = func(q request) (int, protocol.Code, int) {
				if len(q.events) > size {
					return http.StatusRequestEntityTooLarge, protocol.CodeTooLarge, 0
				}
				return 0, "", 0
			}
			r.open(backup)
			r.run()
			r.delivered()
			got := summary(r.broker.of("s1"))
			wantLines(t, "the broker's own events", got[:len(before)], before)
			wantLines(t, "the events of the restored host", got[len(before):], []string{
				"2/1 t1 finish other host-restarted", "2/2 t1 status idle ",
			})
		})
	}
}

// A gateway that answers for a broker which named itself acknowledges nothing,
// and the next attempt follows within seconds even after many such answers.
func TestAGatewaysSuccessLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	successes := slices.Repeat(list(body(200, `{"success":true}`)), 3)
	r.broker.next(successes...)
	r.turn("s1", "t1", writeText("hi"))
	r.until("the host retries", func() bool {
		status, err := r.host.Status(t.Context())
		return err == nil && (status.Sessions[0].Outbox == agenthost.OutboxRetrying || status.Unacknowledged == 0)
	})
	r.delivered()
	wantLines(t, "events", summary(r.broker.of("s1")), []string{
		"1/1 t1 status busy ", "1/2 t1 text hi", "1/3 t1 finish stop ", "1/4 t1 status idle ",
	})
}

// A broker that never named itself acknowledges by the status alone.
func TestAPlainBrokersSuccessIsAReceipt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		open protocol.OpenSessionRequest
	}{
		{"basic", protocol.OpenSessionRequest{}},
		{"with turns", protocol.OpenSessionRequest{Turn: &protocol.AnnouncedTurn{ID: "t1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t).start()
			plain := func(w http.ResponseWriter, q request) {
				r.broker.events["s1"] = append(r.broker.events["s1"], q.events...)
				_ = json.NewEncoder(w).Encode(map[string]any{"success": true})
			}
			r.broker.next(slices.Repeat(list(plain), 10)...)
			c.open.SessionID, c.open.WebhookURL = "s1", r.broker.url()
			r.agent.script(writeText("hi"))
			grant := r.grant("s1", r.openSession(&c.open).Token)
			stream, err := r.host.Start(t.Context(), grant, &protocol.PromptRequest{Prompt: "go"})
			if err != nil {
				t.Fatal(err)
			}
			r.read(stream)
			r.delivered()
			texts := 0
			for _, e := range r.broker.of("s1") {
				if e.Type == protocol.EventText {
					texts++
				}
			}
			if texts != 1 {
				t.Errorf("%d texts: %q", texts, summary(r.broker.of("s1")))
			}
		})
	}
}
