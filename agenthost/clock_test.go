package agenthost_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// memory carries requests to the broker without a network, so that a test can run in
// a synctest bubble.
type memory struct{ broker *fakeBroker }

func (m memory) Do(req *http.Request) (_ *http.Response, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("connection reset")
		}
	}()
	w := httptest.NewRecorder()
	m.broker.ServeHTTP(w, req)
	return w.Result(), nil
}

// inBubble runs a test and its host in a synctest bubble, where timers take no real time.
func inBubble(t *testing.T, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		broker := &fakeBroker{events: map[string][]protocol.Event{}, base: "http://broker.example"}
		r := &rig{T: t, dir: t.TempDir(), agent: newFakeAgent(), broker: broker}
		r.options = func(o *agenthost.Options) { o.Poster = memory{broker} }
		test(r.start())
	})
}

func webhookUntil(exp time.Time) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, exp.Unix()))
	return "http://broker.example/api/agent/webhook?token=h." + claims + ".s"
}

func (r *rig) statusOf(session string) agenthost.SessionStatus {
	r.Helper()
	status, err := r.host.Status(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	for _, s := range status.Sessions {
		if s.ID == session {
			return s
		}
	}
	r.Fatalf("no session %s", session)
	return agenthost.SessionStatus{}
}

func TestATokenIsRenewedAMinuteBeforeItsEndWhileATurnIsOpen(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		begin := time.Now()
		res := r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: webhookUntil(begin.Add(10 * time.Minute)),
			Cursor: &protocol.Cursor{}, Turn: &protocol.AnnouncedTurn{ID: "t1"},
		})
		gate := make(chan struct{})
		r.agent.script(wait(gate), writeText("late"))
		stream := r.startGrant(r.grant("s1", res.Token))
		var renewals []time.Duration
		renew := func(w http.ResponseWriter, q request) {
			if strings.HasSuffix(q.path, "/renew") {
				renewals = append(renewals, time.Since(begin))
				_, _ = fmt.Fprintf(w, `{"webhookUrl":%q}`, webhookUntil(time.Now().Add(10*time.Minute)))
				return
			}
			r.broker.ingest(w, q)
		}
		synctest.Wait()
		r.broker.next(renew, renew, renew)
		time.Sleep(25 * time.Minute)
		close(gate)
		r.read(stream)
		time.Sleep(time.Hour)
		if fmt.Sprint(renewals) != "[9m0s 18m0s]" {
			r.Errorf("renewed at %v", renewals)
		}
	})
}

func TestBackoffIsBoundedAndASessionEndsIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.broker.unreachable = true
		r.turn("s1", "t1", writeText("hi"))
		time.Sleep(time.Hour)
		if s := r.statusOf("s1"); s.Outbox != agenthost.OutboxRetrying || s.Unacknowledged != 4 {
			r.Errorf("after an hour: %+v", s)
		}
		r.broker.mu.Lock()
		r.broker.unreachable = false
		r.broker.mu.Unlock()
		synctest.Wait()
		r.announce("s1", "t2")
		synctest.Wait()
		if n := len(r.broker.of("s1")); n != 4 {
			r.Errorf("%d events at once after a check-in", n)
		}

		r.broker.mu.Lock()
		r.broker.unreachable = true
		r.broker.mu.Unlock()
		r.turn("s1", "t3", writeText("hi"))
		time.Sleep(time.Hour)
		r.broker.mu.Lock()
		r.broker.unreachable = false
		r.broker.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := r.statusOf("s1"); s.Unacknowledged != 0 || s.Outbox != agenthost.OutboxOK {
			r.Errorf("a minute after the broker is back: %+v", s)
		}
	})
}

func TestDefaultTimes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		// Ten minutes to start a turn.
		r.announce("s1", "t1")
		time.Sleep(10*time.Minute - time.Second)
		if n := len(r.broker.of("s1")); n != 0 {
			r.Errorf("%d events before the token's end", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantLines(r.T, "then", summary(r.broker.of("s1")), []string{"1/1 t1 finish other not-started"})

		// Thirty minutes to answer; the agent is notified.
		stream := r.startNew("s1", "t2", callTool("c1", "rm", `{}`), confirm("c1", "rm"))
		asked := r.untilPart(stream, "tool-approval-request")
		time.Sleep(30*time.Minute - time.Second)
		if s := r.statusOf("s1"); s.OpenInteractions != 1 || s.Status != protocol.StatusIdle ||
			s.Reason != protocol.ReasonWaiting {
			r.Errorf("waiting: %+v", s)
		}
		time.Sleep(2 * time.Second)
		wantLines(r.T, "expired", types(r.read(stream)), []string{"tool-approval-response", "tool-output-denied", "finish"})
		r.wantCode("late", r.host.Answer(r.Context(), "s1", asked.part.ApprovalID, &protocol.AnswerRequest{Approved: yes()}),
			protocol.CodeExpired)

		// A stream lives on when its token expires.
		gate := make(chan struct{})
		stream = r.startNew("s1", "t3", writeText("a"), wait(gate), writeText("b"))
		time.Sleep(20 * time.Minute)
		close(gate)
		wantLines(r.T, "after the token's time", types(r.read(stream)), []string{
			"text-start", "text-delta", "text-delta", "text-end", "finish",
		})

		// Ten idle minutes stop the program.
		stops := r.agent.stopped()
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if r.agent.stopped() != stops+1 {
			r.Errorf("stopped %d times", r.agent.stopped()-stops)
		}
	})
}

// An agent that does not stop is left behind, and its turn ends all the same.
func TestAnAgentThatIgnoresInterruptsIsLeftBehind(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		gate := make(chan struct{})
		stubborn := func(_ context.Context, out agenthost.Output) error {
			<-gate
			if err := out.Text("too late"); err == nil {
				r.Error("a turn that is over took text")
			}
			return nil
		}
		stream := r.startNew("s1", "t1", writeText("x"), stubborn)
		r.readN(stream, 2)
		r.agent.ignoreInterrupts()
		begin := time.Now()
		if err := r.host.Interrupt(r.Context(), "s1", ""); err != nil {
			r.Fatal(err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			r.Errorf("took %v", took)
		}
		wantLines(r.T, "parts", types(r.read(stream)), []string{"text-end", "abort"})
		close(gate)
		synctest.Wait()
	})
}

func TestRequestsToABrokerThatRefusesItsOwnTokensBackOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.broker.refuse = func(request) (int, protocol.Code, int) { return 401, protocol.CodeTokenExpired, 0 }
		r.turn("s1", "t1", writeText("hi"))
		synctest.Wait()
		if n := len(r.broker.seen()); n != 3 { // refused, renewed, refused
			r.Errorf("%d requests without a pause", n)
		}
		if s := r.statusOf("s1"); s.Outbox != agenthost.OutboxRetrying {
			r.Errorf("status %+v", s)
		}
	})
}
