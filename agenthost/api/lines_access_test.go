package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestAccessToSessionsAndLines(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	id, token := h.headless(`{"agent":"demo"}`)
	brokers := h.open("b1")
	upgrade := []string{
		"Connection: Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
	}
	for name, c := range map[string]struct {
		q      request
		status int
		code   string
	}{
		"opening needs the password": {request{"POST", "/sessions", "{}", nil}, 401, "unauthorized"},
		"a stream token opens nothing": {
			request{"POST", "/sessions", "{}", []string{"Authorization: Bearer " + token}}, 401, "unauthorized",
		},
		"an unknown agent": {
			request{"POST", "/sessions", `{"agent":"x"}`, []string{bearerPassword}}, 400, "invalid",
		},
		"an unknown session is not made": {
			request{"POST", "/sessions", `{"session_id":"x"}`, []string{bearerPassword}}, 404, "not_found",
		},
		"a broker's session stays the broker's": {
			request{"POST", "/sessions", `{"session_id":"b1"}`, []string{bearerPassword}}, 409, "foreign_broker",
		},
		"a headless session gets no broker": {
			request{
				"POST", "/session", `{"sessionId":"` + id + `","webhookUrl":"http://127.0.0.1:1/"}`, []string{bearerPassword},
			},
			409, "foreign_broker",
		},
		"listing needs the password": {
			request{"GET", "/sessions", "", []string{"Authorization: Bearer " + token}}, 401, "unauthorized",
		},
		"another session's token reads no history": {
			request{"GET", "/sessions/" + id + "/history", "", []string{"Authorization: Bearer " + brokers}},
			401,
			"unauthorized",
		},
		"lines need a token": {request{"GET", "/ws/" + id, "", upgrade}, 401, "unauthorized"},
		"another session's token sees no lines": {
			request{"GET", "/ws/" + id + "?token=" + brokers, "", upgrade}, 401, "unauthorized",
		},
		"a page of another origin is refused": {
			request{
				"GET", "/ws/" + id + "?token=" + token, "", append(slices.Clone(upgrade), "Origin: https://evil.example.com"),
			},
			403, "forbidden",
		},
		"lines are not for plain requests": {request{"GET", "/ws/" + id + "?token=" + token, "", nil}, 400, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := h.call(c.q)
			var e protocol.ErrorBody
			if json.Unmarshal([]byte(body), &e) != nil || status != c.status || string(e.Code) != c.code {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	allowed := h.do(context.Background(), request{
		"GET", "/ws/" + id + "?token=" + token, "", append(slices.Clone(upgrade), "Origin: "+console),
	})
	if allowed.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("an allowed origin: %d", allowed.StatusCode)
	}
	_ = allowed.Body.Close()
	owner := h.do(context.Background(), request{"GET", "/ws/" + id, "", append(slices.Clone(upgrade), bearerPassword)})
	if owner.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("the password: %d", owner.StatusCode)
	}
	_ = owner.Body.Close()
}

func TestListSessions(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.open("b1")
	id, token := h.headless(`{"model":"m"}`)
	c := h.watch(id, token)
	c.send(`{"type":"input","text":"ask Colour?"}`)
	c.readUntil(protocol.LineAsk)
	_, _, body := h.call(request{"GET", "/sessions", "", []string{bearerPassword}})
	at := h.clock.Now().UTC().Format("2006-01-02T15:04:05Z07:00")
	headless := fmt.Sprintf(`{"session_id":%q,"agent":"demo","project":"","model":"m","state":"waiting","open_questions":1,"headless":true,"clients":1,"created_at":%q,"last_activity_at":%q}`, id, at, at)
	brokers := fmt.Sprintf(`{"session_id":"b1","agent":"demo","project":"","model":"","state":"idle","open_questions":0,"headless":false,"clients":0,"created_at":%q,"last_activity_at":%q}`, at, at)
	if want := `{"sessions":[` + headless + `,` + brokers + `]}`; body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	_, _, status := h.call(request{"GET", "/status", "", []string{bearerPassword}})
	if !strings.Contains(status, `"outbox":"none"`) || !strings.Contains(status, `"unacknowledged":0`) {
		t.Errorf("status: %s", status)
	}
	c.send(`{"type":"interrupt"}`)
	c.readUntil(protocol.StateWaitingForInput)
}
