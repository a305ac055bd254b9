package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/internal/testenv/schema"
	"bellhop/protocol"
)

// endedTask has a turn that has ended, whose text has secrets.
func (s *site) endedTask() string {
	s.t.Helper()
	task, hook := s.checkedIn()
	var message struct{ Messages []protocol.Message }
	must(s.t, json.Unmarshal(s.as(s.ada, "GET", "/api/tasks/"+task+"/messages", "").Body.Bytes(), &message))
	turn := message.Messages[0].TurnID
	for i, body := range []string{
		`"type":"text","id":"t1","text":"hello ` + installationSecret + ` at http://agents.example/x"`,
		`"type":"finish","finishReason":"stop"`,
	} {
		event := fmt.Sprintf(`{"sessionId":%q,"timestamp":1,"eventId":"e%d","epoch":1,"seq":%d,"turnId":%q,%s}`, task, i, i+1,
			turn, body)
		if rec := s.as(nil, "POST", hook, event); rec.Code != http.StatusOK {
			s.t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	return task
}

// share makes a link in a session of ada, and returns its token.
func (s *site) share(task string) (id, token string) {
	s.t.Helper()
	rec := s.as(nil, "POST", "/api/tasks/"+task+"/shares", `{}`, s.signedIn(s.ada)...)
	if rec.Code != http.StatusCreated {
		s.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return field(s.t, rec, "id"), field(s.t, rec, "token")
}

func (s *site) readers(token string) []string { return []string{"Authorization", "Bearer " + token} }

func TestALinkIsReadWithoutSigningIn(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { readWithoutSigningIn(t, newSite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { readWithoutSigningIn(t, newSite(t, onDatabase(schema.Postgres(t)))) })
}

func readWithoutSigningIn(t *testing.T, s *site) {
	task := s.endedTask()
	id, token := s.share(task)
	rec := s.as(nil, "GET", "/api/shared", "", s.readers(token)...)
	want(t, rec, 200, `{"title":"A task","sharedAt":"+0s","expiresAt":"+168h0m0s","messages":[`+
		`{"id":"<id1>","seq":1,"rev":0,"taskId":"","turnId":"<id2>","role":"USER","status":"SENT","message":"hi","artifacts":[],`+
		`"eventId":"","createdAt":"+0s"},`+
		`{"id":"<id3>","seq":2,"rev":0,"taskId":"","turnId":"<id2>","role":"ASSISTANT","status":"SENT",`+
		`"message":"hello [redacted] at [redacted]/x","artifacts":[],"eventId":"","createdAt":"+0s"}],"nextAfter":2,"more":false,`+
		`"turns":[{"id":"<id2>","finishReason":"stop","reason":"","usage":null}],"interactions":[]}`)
	for name, value := range map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow", "Set-Cookie": "",
	} {
		if got := rec.Header().Get(name); got != value {
			t.Errorf("%s %q", name, got)
		}
	}
	rec = s.as(nil, "GET", "/api/shared/export", "", s.readers(token)...)
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), "> hello [redacted] at [redacted]/x\n") ||
		rec.Header().Get("Content-Disposition") != `attachment; filename="bellhop-task.md"` ||
		rec.Header().Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("%d %s %v", rec.Code, rec.Body, rec.Header())
	}
	want(t, s.as(s.ada, "GET", "/api/tasks/"+task+"/shares", ""), 200, `{"shares":[{"id":"<id1>","taskId":"<id2>",`+
		`"taskTitle":"A task","title":"A task","createdAt":"+0s","expiresAt":"+168h0m0s","lastUsedAt":"+0s"}]}`)
	want(t, s.as(s.bob, "GET", "/api/tasks/"+task+"/shares", ""), 404, `{"error":"Task not found","code":"not_found"}`)
	want(t, s.as(s.bob, "GET", "/api/shares", ""), 200, `{"shares":[]}`)
	want(t, s.as(s.bob, "DELETE", "/api/shares/"+id, ""), 404, `{"error":"Share link not found","code":"not_found"}`)
	want(t, s.as(s.ada, "DELETE", "/api/shares/"+id, ""), 200, `{"success":true}`)
	want(t, s.as(nil, "GET", "/api/shared", "", s.readers(token)...), 404, notShared)
	if logged := s.logs.String(); strings.Contains(logged, token) {
		t.Error("the log has the token")
	}
}

func TestTokensThatDoNotWorkLookTheSame(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	task := s.endedTask()
	id, revoked := s.share(task)
	want(t, s.as(s.ada, "DELETE", "/api/shares/"+id, ""), 200, `{"success":true}`)
	rec := s.as(nil, "POST", "/api/tasks/"+task+"/shares", `{"expiresIn":60}`, s.signedIn(s.ada)...)
	expired := field(t, rec, "token")
	s.clock.Advance(time.Minute)
	_, valid := s.share(task)
	for name, headers := range map[string][]string{
		"absent": nil, "wrong": s.readers("bhs_wrong"), "revoked": s.readers(revoked), "expired": s.readers(expired),
		"an API token": s.readers(s.ada.token), "a session": s.signedIn(s.ada),
		"another scheme": {"Authorization", "Basic " + valid},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/api/shared", "/api/shared/export"} {
				rec := s.as(nil, "GET", path+"?token="+valid, "", headers...)
				want(t, rec, 404, notShared)
				rec.Header().Del("X-Request-Id")
				if got := fmt.Sprint(rec.Header()); got != `map[Bellhop-Broker:[broker-1] Cache-Control:[no-store] Content-Type:[application/json] `+
					`Referrer-Policy:[no-referrer] Vary:[Origin] X-Content-Type-Options:[nosniff] X-Robots-Tag:[noindex, nofollow]]` {
					t.Errorf("%s: %s", path, got)
				}
			}
		})
	}
	if rec := s.as(nil, "GET", "/api/shared", "", s.readers(valid)...); rec.Code != http.StatusOK {
		t.Errorf("the link that works: %d %s", rec.Code, rec.Body)
	}
}

func TestATokenOfAProgramMakesNoLink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want(t, s.as(s.ada, "POST", "/api/tasks/"+s.endedTask()+"/shares", `{}`), 403,
		`{"error":"An API token cannot be used here","code":"forbidden","hint":"Sign in to the console"}`)
}

func TestReadersOfLinksAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	limited := func(path string) (requests int) {
		for requests = 1; requests < 2000; requests++ {
			rec := s.as(nil, "GET", path, "", s.readers("bhs_wrong")...)
			if rec.Code == http.StatusTooManyRequests {
				if rec.Header().Get("Retry-After") == "" {
					t.Errorf("%s without Retry-After", path)
				}
				return requests
			}
		}
		return requests
	}
	if n := limited("/api/shared"); n < 61 || n == 2000 {
		t.Errorf("limited after %d reads", n)
	}
	if n := limited("/api/shared/export"); n < 11 || n == 2000 {
		t.Errorf("limited after %d exports", n)
	}
}

func TestOwnersExportTheirTasks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	task := s.endedTask()
	rec := s.as(s.ada, "GET", "/api/tasks/"+task+"/export", "")
	if rec.Code != 200 ||
		!strings.Contains(rec.Body.String(), "> hello "+installationSecret+" at http://agents.example/x\n") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	rec = s.as(s.ada, "GET", "/api/tasks/"+task+"/export?masked=true", "")
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), "> hello [redacted] at [redacted]/x\n") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	want(t, s.as(s.ada, "GET", "/api/tasks/"+task+"/export?masked=perhaps", ""), 400,
		`{"error":"masked must be true or false","code":"invalid"}`)
	want(t, s.as(s.bob, "GET", "/api/tasks/"+task+"/export", ""), 404, `{"error":"Task not found","code":"not_found"}`)
}
