package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// canaries are secrets that the test sends through every route and error path. None
// of them may appear in a log line or an error body (reliability AUTH-6).
type canaries map[string]string

func (c canaries) find(t *testing.T, where, text string) {
	t.Helper()
	for name, secret := range c {
		for _, form := range []string{secret, url.QueryEscape(secret)} {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s is in %s: …%s…", name, where, text[max(0, at-200):min(len(text), at+len(form)+80)])
				return
			}
		}
	}
}

func TestNoRouteOrErrorRevealsASecret(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	task, hook := s.checkedIn()
	webhookSecret, err := s.store.WebhookSecret(t.Context(), task)
	must(t, err)
	link, err := s.auth.CreateLink(t.Context(), s.ada.id)
	must(t, err)
	session := cookieOf(t, s.as(nil, "POST", "/api/auth/login", `{"email":"ada@example.com","password":"`+password+`"}`))
	_, cookieValue, _ := strings.Cut(session, "=")
	factor, recovery := s.enrol([]string{"Cookie", session})
	_, jwt, _ := strings.Cut(hook, "token=")
	secrets := canaries{
		"password": password, "agent password": agentPassword, "API token": s.ada.token, "sign-in link": link,
		"session cookie": cookieValue, "webhook secret": webhookSecret.Reveal(), "webhook token": jwt,
		"signature": jwt[strings.LastIndex(jwt, ".")+1:], "stream token": "canary-stream-token",
		"host password": "canary-host-password", "second factor": factor, "recovery code": recovery[0],
	}
	drive := func(phase string) {
		for _, r := range s.attacks(secrets, task, session) {
			rec := httptest.NewRecorder()
			s.echo.ServeHTTP(rec, r)
			if rec.Code >= 400 {
				secrets.find(t, fmt.Sprintf("the answer of %s %s (%s)", r.Method, r.URL.Path, phase),
					rec.Body.String()+fmt.Sprint(rec.Header()))
			}
		}
	}
	drive("all well")
	s.host.fail(protocol.Errorf(protocol.CodeBadGateway, "Failed to connect to agent server"))
	drive("host away")
	s.clock.Advance(time.Hour)
	drive("tokens expired")
	list, err := s.store.AuditEntries(t.Context(), broker.AuditFilter{Limit: 10_000})
	must(t, err)
	if len(list) < 50 {
		t.Errorf("only %d entries in the audit log", len(list))
	}
	for i := range list {
		raw, err := json.Marshal(list[i])
		must(t, err)
		secrets.find(t, "the audit log", string(raw))
	}
	must(t, s.db.Close())
	drive("database away")

	logged := s.logs.String()
	if lines := strings.Count(logged, "\n"); lines < 500 {
		t.Errorf("only %d lines were logged", lines)
	}
	secrets.find(t, "the log", logged)
}

// attacks returns requests for every route, with every secret in every place where
// a client may put it by mistake.
func (s *site) attacks(secrets canaries, task, session string) []*http.Request {
	var all []*http.Request
	routes := append([]string{"GET /api/nonsense", "PUT /api/tasks"}, guarded...)
	for name := range open {
		routes = append(routes, name)
	}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		for _, secret := range secrets {
			for _, body := range bodiesWith(secret, task) {
				target := strings.Replace(path, ":id", task, 1) + "?token=" + url.QueryEscape(secret) + "&limit=" +
					url.QueryEscape(secret)
				r := httptest.NewRequest(method, target, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Referer", "http://broker.example/?token="+url.QueryEscape(secret))
				all = append(all, r)
			}
		}
		for _, headers := range []map[string]string{
			{"Authorization": "Bearer " + s.ada.token},
			{"Cookie": session},
			{"Cookie": session, "Sec-Fetch-Site": "cross-site"},
			{"Authorization": "Bearer " + secrets["webhook token"]},
			{"Authorization": "Bearer " + agentPassword},
			{"Authorization": "Basic " + agentPassword},
		} {
			for _, id := range []string{task, "nonsense"} {
				// The context is canceled at once, because a feed would not end by
				// itself.
				ctx := s.t.Context()
				if strings.HasSuffix(path, "/events") {
					gone, cancel := context.WithCancel(ctx)
					cancel()
					ctx = gone
				}
				body := `{"taskId":"` + id +
					`","title":"t","message":"m","name":"n","url":"http://one.example","password":"canary-host-password"}`
				r := httptest.NewRequestWithContext(ctx, method,
					strings.Replace(path, ":id", id, 1)+"?token="+url.QueryEscape(secrets["webhook token"]), strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				for name, value := range headers {
					r.Header.Set(name, value)
				}
				all = append(all, r)
			}
		}
	}
	return all
}

func bodiesWith(secret, task string) []string {
	return []string{
		`{"email":"ada@example.com","password":"` + secret,
		`{"email":"eve@example.com","password":"` + secret + `"}`,
		`{"link":"` + secret + `"}`,
		`{"email":"` + secret + `","password":"typed into the wrong field"}`,
		`{"sessionId":"` + task + `","type":"` + secret + `","id":7}`,
		secret,
	}
}
