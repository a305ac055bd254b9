//go:build full

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/internal/app"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// replicas returns two brokers on one PostgreSQL. The first has a user.
func replicas(t *testing.T) (first, second *running) {
	t.Helper()
	store := app.StoreConfig{DatabaseURL: seal.NewSecret(testenv.Postgres(t, nil)), Keyset: newKeyset(t), MaxConns: 8}
	first = withUser(t, runBroker(t, app.BrokerConfig{StoreConfig: store}))
	second = &running{Broker: runBroker(t, app.BrokerConfig{StoreConfig: store}), user: first.user, token: first.token}
	return first, second
}

// post delivers an event as a host does.
func post(t testing.TB, b *running, task, turn, event string) (status int, body string) {
	t.Helper()
	secret, err := b.Store.WebhookSecret(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	signed, _, err := token.SignWebhook([]byte(secret.Reveal()), task, turn, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/api/agent/webhook?token="+signed,
		bytes.NewReader([]byte(event)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func textEvent(task string, seq int) string {
	return fmt.Sprintf(`{"sessionId":%q,"type":"text","id":"txt","text":"text %d","eventId":"e%d","epoch":1,"seq":%d,"turnId":"turn","timestamp":1}`, task, seq, seq, seq)
}

func TestTheFeedOfOneReplicaGetsChangesOfTheOther(t *testing.T) {
	t.Parallel()
	first, second := replicas(t)
	task := first.task(t, "http://127.0.0.1:1", "")
	notified := make(chan string)
	go func() {
		defer close(notified)
		for change, err := range second.client().FollowTask(t.Context(), task, 0) {
			if err != nil {
				return
			}
			if change.Message != nil {
				notified <- change.Message.Message
			}
		}
	}()
	for seq := 1; seq <= 5; seq++ {
		if status, body := post(t, first, task, "turn", textEvent(task, seq)); status != http.StatusOK {
			t.Fatalf("event %d: %d %s", seq, status, body)
		}
		if got, want := <-notified, fmt.Sprintf("text %d", seq); got != want {
			t.Fatalf("the other replica's feed sent %q, want %q", got, want)
		}
	}
}

func TestTheSameEventAtOnceOnTwoReplicasHasOneEffect(t *testing.T) {
	t.Parallel()
	first, second := replicas(t)
	task := first.task(t, "http://127.0.0.1:1", "")
	const events, copies = 20, 6
	for seq := 1; seq <= events; seq++ {
		var posts sync.WaitGroup
		var mu sync.Mutex
		var sum protocol.IngestResponse
		for i := range copies {
			posts.Go(func() {
				status, body := post(t, []*running{first, second}[i%2], task, "turn", textEvent(task, seq))
				var answer protocol.IngestResponse
				if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK ||
					*answer.Cursor != (protocol.Cursor{Epoch: 1, Seq: int64(seq)}) {
					t.Errorf("event %d: %d %s", seq, status, body)
				}
				mu.Lock()
				defer mu.Unlock()
				sum.Accepted += answer.Accepted
				sum.Duplicates += answer.Duplicates
			})
		}
		posts.Wait()
		if sum.Accepted != 1 || sum.Duplicates != copies-1 {
			t.Errorf("event %d was accepted %d times and known %d times", seq, sum.Accepted, sum.Duplicates)
		}
	}
	rows := messagesOf(t, second.client(), task)
	if len(rows) != events {
		t.Fatalf("%d messages of %d events", len(rows), events)
	}
	for i, m := range rows {
		if want := fmt.Sprintf("text %d", i+1); m.Message != want || m.Seq != int64(i+1) {
			t.Errorf("message %d is %d %q, want %q", i, m.Seq, m.Message, want)
		}
	}
}
