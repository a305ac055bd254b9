package agenthost_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/agenthost"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/lies"
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
	successes := slices.Repeat(list(gateway(body(200, `{"success":true}`))), 3)
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

// What does not name the broker and the request is not the broker's, whatever it says: nothing is acknowledged, dropped
// or stopped, and no turn ends. The first round tells each lie as it is, the others with another status.
func TestNoAnswerOfSomethingElseIsBelieved(t *testing.T) {
	t.Parallel()
	statuses := []int{
		200, 201, 202, 203, 206, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413,
		414, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 520, 530,
	}
	for round := range testenv.Rounds(t) {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(r *rig) {
				all := lies.All()
				for i := range all {
					if lie := &all[i]; round > 0 && lie.Status > 0 {
						lie.Status = statuses[(7*i+round)%len(statuses)]
					}
					r.broker.next(lying(&all[i]))
				}
				r.turn("s1", "t1", writeText("hi"))
				time.Sleep(24 * time.Hour) // of the bubble: the host asks again after at most a minute
				r.delivered()
				wantLines(r.T, "events", summary(r.broker.of("s1")), []string{
					"1/1 t1 status busy ", "1/2 t1 text hi", "1/3 t1 finish stop ", "1/4 t1 status idle ",
				})
				if found, err := r.host.Status(r.Context()); err != nil || len(found.DeadLetters) != 0 {
					r.Errorf("status: %+v, %v", found, err)
				}
				if told := len(r.broker.seen()); told <= len(all) {
					r.Errorf("%d requests", told)
				}
			})
		})
	}
}

// Receipts that something has given to each other's requests are repeated at once, and seen in the status until then.
func TestSwappedReceiptsHealAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		swapped := lying(&lies.Lie{How: "swapped"})
		r.broker.next(swapped, swapped)
		r.turn("s1", "t1", writeText("hi"))
		r.turn("s2", "t2", writeText("hi"))
		synctest.Wait()
		if found, err := r.host.Status(r.Context()); err != nil || found.Unacknowledged == 0 ||
			found.Sessions[0].Outbox != agenthost.OutboxRetrying {
			r.Errorf("after swapped receipts: %+v, %v", found, err)
		}
		time.Sleep(5 * time.Second) // of the bubble
		synctest.Wait()
		if found, err := r.host.Status(r.Context()); err != nil || found.Unacknowledged != 0 {
			r.Errorf("5 s later: %+v, %v", found, err)
		}
		for _, id := range []string{"s1", "s2"} {
			if got := len(r.broker.of(id)); got != 4 {
				r.Errorf("%s: %d events", id, got)
			}
		}
	})
}

// lying answers with a lie. The broker's own answer to another request names the broker.
func lying(lie *lies.Lie) func(http.ResponseWriter, request) {
	return func(w http.ResponseWriter, r request) {
		w.Header().Set(protocol.HeaderRequest, "of-another-request")
		if lie.How == "stale" || lie.How == "swapped" {
			body(http.StatusOK, `{"success":true,"cursor":{"epoch":1,"seq":4}}`)(w, r)
			return
		}
		w.Header().Del(protocol.HeaderBroker)
		lie.Write(w)
	}
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
