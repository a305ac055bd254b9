package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bellhop/protocol"
)

type opened struct {
	Notebook      protocol.Notebook     `json:"notebook"`
	AgentSession  protocol.AgentSession `json:"agentSession"`
	WebhookSecret string                `json:"webhookSecret"`
}

type saved struct {
	Source protocol.Source `json:"source"`
}

const (
	firstCode  = "package main\n\nfunc main() { println(1) }\n"
	secondCode = "package main\n\nfunc main() { println(2) }\n"
	theDiff    = "--- version 1\n+++ version 2\n@@ -1,3 +1,3 @@\n package main\n \n-func main() { println(1) " +
		"}\n+func main() { println(2) }\n"
)

// An agent saves code over MCP. The user's question reaches its webhook at the third attempt.
// The answer brings version 2, whose diff the user gets.
func TestAnAgentsNotebookFromQuestionToVersionTwo(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s, token := notebookStack(t, kind)
		s.broker.start()
		h := newHook(t)
		e := newEditor(t, overHTTP(s, token))
		var book opened
		e.call("create_agent_notebook", map[string]any{"agentName": "Ada", "agentIdentifier": "ada", "webhookUrl": h.URL},
			&book)
		h.mu.Lock()
		h.secret = book.WebhookSecret
		h.mu.Unlock()
		var source saved
		e.call("save_code_with_context", map[string]any{
			"notebookId": book.Notebook.ID, "title": "Print a number", "code": firstCode, "context": "The user wanted a number.",
		}, &source)
		if m := source.Source.Metadata; !m.IsVerified || m.Language != "go" || m.Verification.Tool != "go/parser+go/types" {
			t.Errorf("verification %+v", m.Verification)
		}

		reply, err := json.Marshal(map[string]any{
			"success": true, "response": "Here is two.", "codeUpdate": map[string]any{"code": secondCode, "description": "two"},
		})
		if err != nil {
			t.Fatal(err)
		}
		h.answers <- answer{status: 500}
		h.answers <- answer{status: 500}
		h.answers <- answer{status: 200, body: string(reply)}
		var asked struct {
			Message protocol.FollowupMessage `json:"message"`
		}
		s.as(t, s.token, "POST", "/api/sources/"+source.Source.ID+"/conversation",
			map[string]any{"content": "Can it be two?"}, 201, &asked)

		var talk protocol.Conversation
		until(t, "an answer", func() bool {
			s.as(t, s.token, "GET", "/api/sources/"+source.Source.ID+"/conversation", nil, 200, &talk)
			return len(talk.Messages) == 2
		})
		for _, got := range h.requests() {
			if got.id != asked.Message.ID || got.body.Message != "Can it be two?" || got.body.SourceCode != firstCode ||
				got.body.MessageID != asked.Message.ID {
				t.Errorf("delivered %+v", got)
			}
		}
		if s.unread(t) != 1 {
			t.Error("the answer is not unread, though no page has shown it")
		}
		last := talk.Messages[1]
		s.as(t, s.token, "POST", "/api/sources/"+source.Source.ID+"/conversation/read",
			map[string]any{"messageId": last.ID}, 200, nil)
		if s.unread(t) != 0 {
			t.Error("the answer is unread after the page has shown it")
		}
		if n := len(h.requests()); n != 3 || last.Content != "Here is two." || last.Metadata.CodeModification == nil ||
			last.Metadata.CodeModification.Diff != theDiff {
			t.Errorf("%d requests, %+v", n, last)
		}
		var now saved
		until(t, "a verdict on version 2", func() bool {
			s.as(t, s.token, "GET", "/api/sources/"+source.Source.ID, nil, 200, &now)
			return now.Source.Metadata.IsVerified
		})
		if now.Source.Version != 2 || now.Source.Content != secondCode {
			t.Errorf("source %+v", now.Source)
		}
		s.deliveredOnce(t, asked.Message.ID, 3)
		s.broker.stop()
	})
}

// unread is the count of the only notebook.
func (s *stack) unread(t *testing.T) int {
	t.Helper()
	var list struct{ Notebooks []protocol.Notebook }
	s.as(t, s.token, "GET", "/api/notebooks", nil, 200, &list)
	return list.Notebooks[0].Unread
}

func (s *stack) deliveredOnce(t *testing.T, messageID string, attempts int) {
	t.Helper()
	var log struct {
		Deliveries []struct {
			State     string            `json:"state"`
			MessageID string            `json:"messageId"`
			Attempts  []json.RawMessage `json:"attempts"`

			Subject protocol.DeliverySubject `json:"subject"`
		} `json:"deliveries"`
	}
	s.as(t, s.token, "GET", "/api/deliveries", nil, 200, &log)
	if len(log.Deliveries) != 1 || log.Deliveries[0].State != "delivered" || log.Deliveries[0].MessageID != messageID ||
		len(log.Deliveries[0].Attempts) != attempts {
		t.Errorf("deliveries %+v", log.Deliveries)
	} else if subject := log.Deliveries[0].Subject; subject.AgentName != "Ada" || subject.SourceTitle == "" ||
		subject.Question == "" {
		t.Errorf("the delivery is about %+v", subject)
	}
}

// An agent behind the stdio bridge, without a webhook, polls and responds.
func TestAnAgentOnTheStdioBridgePollsAndResponds(t *testing.T) {
	s, token := notebookStack(t, sqlite)
	s.broker.start()
	cmd := exec.Command(binary(t), "mcp", "--url", s.broker.url)
	cmd.Env = append(baseEnv(), "BELLHOP_TOKEN="+token)
	e := newEditor(t, &mcp.CommandTransport{Command: cmd})
	var book opened
	e.call("create_agent_notebook", map[string]any{"agentName": "Ada", "agentIdentifier": "ada"}, &book)
	var source saved
	e.call("save_code_with_context",
		map[string]any{
			"notebookId": book.Notebook.ID, "title": "t", "code": "const x: number = ;", "language": "ts", "context": "c",
		}, &source)
	if v := source.Source.Metadata.Verification; source.Source.Metadata.IsVerified ||
		v.Tool != "github.com/evanw/esbuild" || v.Verdict != protocol.VerifyFailed {
		t.Errorf("verification %+v", v)
	}
	s.as(t, s.token, "POST", "/api/sources/"+source.Source.ID+"/conversation", map[string]any{"content": "?"}, 201, nil)
	var open struct {
		Messages []protocol.Followup `json:"messages"`
	}
	e.call("get_followup_messages", map[string]any{}, &open)
	if len(open.Messages) != 1 {
		t.Fatalf("open %+v", open)
	}
	feed := s.hints(t)
	var replied saved
	e.call("respond_to_followup", map[string]any{
		"messageId": open.Messages[0].ID, "response": "Mended.",
		"codeUpdate": map[string]any{"code": "const x: number = 1;", "description": "mended"},
	}, &replied)
	if replied.Source.Version != 2 || !replied.Source.Metadata.IsVerified {
		t.Errorf("source %+v", replied.Source)
	}
	feed.await(t, `"status":"active","event":"answered","sourceId":"`+source.Source.ID+`"}`)
	again, err := e.session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "respond_to_followup", Arguments: map[string]any{"messageId": open.Messages[0].ID, "response": "Again."},
	})
	if err != nil || !again.IsError {
		t.Errorf("answered twice: %v %+v", err, again)
	}
	s.as(t, s.token, "POST", "/api/agent-sessions/"+book.AgentSession.ID+"/disconnect", nil, 200, nil)
	feed.await(t, `"status":"disconnected","event":"disconnected","sourceId":""}`)
	s.as(t, token, "GET", "/api/tasks", nil, 403, nil)
	s.as(t, token, "GET", "/api/notebooks", nil, 403, nil)
}

// hintFeed is the feed that a console reads.
type hintFeed struct{ lines *bufio.Scanner }

func (s *stack) hints(t *testing.T) *hintFeed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.broker.url+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := bearer(s.token).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	f := &hintFeed{bufio.NewScanner(resp.Body)}
	f.await(t, `"tasks":[]`)
	return f
}

// await reads up to a line that contains text.
func (f *hintFeed) await(t *testing.T, text string) {
	t.Helper()
	for f.lines.Scan() {
		if strings.Contains(f.lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the feed ended without %s: %v", text, f.lines.Err())
}

// kill -9 before the request, or between it and the record of its outcome: the delivery is sent
// again with the same id.
func TestAKilledBrokerDeliversAgainUnderTheSameID(t *testing.T) {
	for point, requests := range deliveryPoints {
		t.Run(point, func(t *testing.T) {
			t.Parallel() // each waits until the dead broker's lease of the delivery ends
			deliverAfterAKill(t, point, requests)
		})
	}
}

func deliverAfterAKill(t *testing.T, point string, requests int) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		t.Parallel()
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
