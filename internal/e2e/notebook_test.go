package e2e

import (
	"encoding/json"
	"testing"

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
