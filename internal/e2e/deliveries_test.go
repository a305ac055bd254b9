//go:build full

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bellhop/protocol"
)

// kill -9 before the request, or between it and the record of its outcome: the delivery is sent
// again with the same id.
func TestAKilledBrokerDeliversAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	for point, requests := range deliveryPoints {
		t.Run(point, func(t *testing.T) {
			deliverAfterAKill(t, point, requests)
		})
	}
}

func deliverAfterAKill(t *testing.T, point string, requests int) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s, token := notebookStack(t, kind)
		s.broker.start(dieAt(point, 1))
		h := newHook(t)
		var book opened
		s.as(t, token, "POST", "/api/coding-agent/notebooks",
			map[string]any{"agentName": "Ada", "agentIdentifier": "ada", "webhookUrl": h.URL}, 201, &book)
		h.mu.Lock()
		h.secret = book.WebhookSecret
		h.mu.Unlock()
		var source saved
		s.as(t, token, "POST", "/api/coding-agent/sources/with-context",
			map[string]any{"notebookId": book.Notebook.ID, "title": "t", "code": "{}", "context": "c"}, 201, &source)
		h.answers <- answer{status: 204}
		h.answers <- answer{status: 204}
		// The worker may be faster than the response, which is then lost with the broker.
		if resp, err := s.send(t, s.token, "POST", "/api/sources/"+source.Source.ID+"/conversation",
			map[string]any{"content": "?"}); err == nil {
			_ = resp.Body.Close()
		}
		if !s.broker.dead(startLimit) {
			t.Fatal("the fail point was not met")
		}
		s.broker.start()
		var talk protocol.Conversation
		until(t, "delivered", func() bool {
			s.as(t, s.token, "GET", "/api/sources/"+source.Source.ID+"/conversation", nil, 200, &talk)
			return talk.Messages[0].Metadata.Delivered
		})
		got, asked := h.requests(), talk.Messages[0].ID
		if len(got) != requests || got[0].id != asked || got[len(got)-1].id != asked {
			t.Errorf("requests %+v", got)
		}
		s.deliveredOnce(t, asked, 2)
	})
}

// A user's own webhook is notified of a finished turn and of an agent's answer.
func TestAUsersWebhookGetsTurnsAndAnswers(t *testing.T) {
	t.Parallel()
	s, agentToken := notebookStack(t, sqlite)
	s.host.start()
	s.broker.start()
	events := make(chan map[string]any, 16)
	var secret atomic.Value
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		verifier, err := webhooks.NewWebhook(secret.Load().(string))
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		var event map[string]any
		if err != nil || json.Unmarshal(body, &event) != nil {
			t.Errorf("%v: %s", err, body)
		}
		events <- event
	}))
	t.Cleanup(receiver.Close)
	var registered struct {
		Webhook struct {
			Secret string `json:"secret"`
		} `json:"webhook"`
	}
	s.as(t, s.token, "POST", "/api/webhooks",
		map[string]any{"url": receiver.URL, "events": []string{"turn.finished", "followup.answered"}}, 201, &registered)
	secret.Store(registered.Webhook.Secret)

	var task protocol.Task
	s.as(t, s.token, "POST", "/api/tasks", map[string]any{"title": "T", "hostId": s.hostID}, 201, &task)
	var in protocol.CheckInResponse
	s.as(t, s.token, "POST", "/api/agent", map[string]any{"taskId": task.ID, "message": "list"}, 200, &in)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.StreamURL+"?token="+in.StreamToken,
		strings.NewReader(`{"prompt":"list"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	finished := <-events
	if data, _ := finished["data"].(map[string]any); finished["type"] != "turn.finished" ||
		finished["taskId"] != task.ID || finished["turnId"] != in.TurnID || data["finishReason"] != "stop" {
		t.Errorf("event %+v", finished)
	}

	var book opened
	s.as(t, agentToken, "POST", "/api/coding-agent/notebooks",
		map[string]any{"agentName": "Ada", "agentIdentifier": "ada"}, 201, &book)
	var source saved
	s.as(t, agentToken, "POST", "/api/coding-agent/sources/with-context",
		map[string]any{"notebookId": book.Notebook.ID, "title": "t", "code": "{}", "context": "c"}, 201, &source)
	var asked, answered struct {
		Message protocol.FollowupMessage `json:"message"`
	}
	s.as(t, s.token, "POST", "/api/sources/"+source.Source.ID+"/conversation", map[string]any{"content": "?"}, 201, &asked)
	s.as(t, agentToken, "POST", "/api/coding-agent/followups/"+asked.Message.ID+"/respond",
		map[string]any{"response": "!"}, 200, &answered)
	event := <-events
	if data, _ := event["data"].(map[string]any); event["type"] != "followup.answered" ||
		data["messageId"] != answered.Message.ID || data["inReplyTo"] != asked.Message.ID {
		t.Errorf("event %+v", event)
	}
}
