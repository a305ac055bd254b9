package api_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"bellhop/internal/testenv"
	"bellhop/internal/testenv/schema"
	"bellhop/protocol"
)

// checkedIn opens a turn of a new task. It returns the task and the path of its
// webhook, including the token.
func (s *site) checkedIn() (task, hook string) {
	s.t.Helper()
	task = s.newTask("")
	rec := s.as(s.ada, "POST", "/api/agent", `{"taskId":"`+task+`","message":"hi"}`)
	if rec.Code != 200 {
		s.t.Fatalf("check in: %d %s", rec.Code, rec.Body)
	}
	return task, s.hook()
}

func (s *site) hook() string { return strings.TrimPrefix(s.host.webhook(), publicURL) }

func event(task, more string) string {
	return `{"sessionId":"` + task + `","type":"text","id":"t1","text":"hello","timestamp":1` + more + `}`
}

func at(epoch, seq string) string {
	return `,"eventId":"e:` + epoch + `:` + seq + `","epoch":` + epoch + `,"seq":` + seq + `,"turnId":"turn"`
}

// A host believes no answer that does not name the broker and the request, so refusals by whatever part of the broker do.
func TestEveryAnswerNamesTheBrokerAndTheRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	task, hook := s.checkedIn()
	for name, request := range map[string]struct{ method, target, body string }{
		"stored":              {"POST", hook, event(task, "")},
		"refused content":     {"POST", hook, "{}"},
		"no token":            {"POST", "/api/agent/webhook", event(task, "")},
		"another token":       {"POST", "/api/agent/webhook?token=a.b.c", event(task, "")},
		"too large":           {"POST", hook, strings.Repeat(" ", 2<<20)},
		"renewal":             {"POST", strings.Replace(hook, "?", "/renew?", 1), "{}"},
		"another method":      {"GET", hook, ""},
		"no such route":       {"POST", "/api/agent/hook", "{}"},
		"a user's request":    {"GET", "/api/tasks", ""},
		"a guard of browsers": {"POST", "http://other.example" + hook, event(task, "")},
	} {
		_, rec := s.unchecked(nil, request.method, request.target, request.body, protocol.HeaderRequest, "r-17")
		if broker, id := rec.Header().Get(protocol.HeaderBroker), rec.Header().Get(protocol.HeaderRequest); broker != "broker-1" ||
			id != "r-17" {
			t.Errorf("%s: %d of broker %q to request %q", name, rec.Code, broker, id)
		}
	}
	_, rec := s.unchecked(nil, "POST", hook, "{}", protocol.HeaderRequest, "not\"a name")
	if got := rec.Header().Values(protocol.HeaderRequest); len(got) != 0 {
		t.Errorf("repeated %q", got)
	}
}

// The table of protocol section 1.4, beginning with the first stored event.
func TestTheWebhookFollowsTheCursor(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { followTheCursor(t, newSite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { followTheCursor(t, newSite(t, onDatabase(schema.Postgres(t)))) })
}

func followTheCursor(t *testing.T, s *site) {
	task, hook := s.checkedIn()
	other := s.newTask("")
	batch := func(events ...string) string {
		return `{"sessionId":"` + task + `","events":[` + strings.Join(events, ",") + `]}`
	}
	for _, step := range []struct {
		name, body string
		status     int
		answer     string
	}{
		{
			"the first event", event(task, at("1", "1")),
			200, `{"success":true,"accepted":1,"duplicates":0,"cursor":{"epoch":1,"seq":1}}`,
		},
		{
			"15 the same again", event(task, at("1", "1")),
			200, `{"success":true,"accepted":0,"duplicates":1,"cursor":{"epoch":1,"seq":1}}`,
		},
		{
			"the same in other spelling",
			strings.Replace(event(task, at("1", "1")), `"timestamp":1`, ` "timestamp" : 1.0`, 1), 200,
			`{"success":true,"accepted":0,"duplicates":1,"cursor":{"epoch":1,"seq":1}}`,
		},
		{
			"16 its id with other content", strings.Replace(event(task, at("1", "1")), "hello", "other", 1), 409,
			`{"error":"An event with this id and other content is known","code":"conflict"}`,
		},
		{
			"its place with another id", strings.Replace(event(task, at("1", "1")), "e:1:1", "e:x", 1), 409,
			`{"error":"Another event stands at this epoch and seq","code":"diverged","cursor":{"epoch":1,"seq":1}}`,
		},
		{
			"a hole", event(task, at("1", "3")), 409,
			`{"error":"Events are missing before this one","code":"gap","cursor":{"epoch":1,"seq":1}}`,
		},
		{
			"a batch continues at the cursor", batch(event(task, at("1", "2")), event(task, at("1", "3"))), 200,
			`{"success":true,"accepted":2,"duplicates":0,"cursor":{"epoch":1,"seq":3}}`,
		},
		{
			"a batch with a hole is refused as a whole", batch(event(task, at("1", "4")), event(task, at("1", "6"))), 409,
			`{"error":"Events are missing before this one","code":"gap","cursor":{"epoch":1,"seq":3},"index":1}`,
		},
		{
			"a batch of one names its index", batch(event(task, at("1", "9"))), 409,
			`{"error":"Events are missing before this one","code":"gap","cursor":{"epoch":1,"seq":3},"index":0}`,
		},
		{
			"a later epoch begins at 1", event(task, at("2", "2")), 409,
			`{"error":"Events are missing before this one","code":"gap","cursor":{"epoch":2,"seq":0}}`,
		},
		{
			"the first event of a later epoch moves the task's cursor", event(task, at("2", "1")),
			200, `{"success":true,"accepted":1,"duplicates":0,"cursor":{"epoch":2,"seq":1}}`,
		},
		{
			"an earlier epoch is fenced", event(task, at("1", "4")), 409,
			`{"error":"The event's epoch is over","code":"fenced","cursor":{"epoch":2,"seq":1}}`,
		},
		{
			"14 an unknown type is kept", `{"sessionId":"` + task + `","type":"later","timestamp":1}`, 200,
			`{"success":true,"accepted":1,"duplicates":0,"cursor":null}`,
		},
		{"another task's session", event(other, ""), 400, `{"error":"Session ID mismatch","code":"invalid"}`},
	} {
		t.Run(step.name, func(t *testing.T) {
			want(t, s.as(nil, "POST", hook, step.body), step.status, step.answer)
		})
	}
}

func TestTheSameIDOnAnotherTaskIsAnotherEvent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 2 {
		task, hook := s.checkedIn()
		want(t, s.as(nil, "POST", hook, event(task, `,"eventId":"same"`)), 200,
			`{"success":true,"accepted":1,"duplicates":0,"cursor":null}`)
	}
}

func TestADeletedTaskIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	task, hook := s.checkedIn()
	want(t, s.as(s.ada, "DELETE", "/api/tasks/"+task, ""), 200, `{"success":true}`)
	want(t, s.as(nil, "POST", hook, event(task, "")), 410, `{"error":"Task deleted","code":"gone"}`)
	renewal := strings.Replace(hook, "?", "/renew?", 1)
	want(t, s.as(nil, "POST", renewal, "", "Authorization", "Bearer "+agentPassword), 410,
		`{"error":"Task deleted","code":"gone"}`)
}

func TestAWebhookTokenIsRenewedWithTheAgentPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	task, hook := s.checkedIn()
	s.clock.Advance(time.Hour)
	want(t, s.as(nil, "POST", hook, event(task, "")), 401,
		`{"error":"Invalid or expired token","code":"token_expired","hint":"Renew it at /api/agent/webhook/renew"}`)
	renewal := strings.Replace(hook, "?", "/renew?", 1)
	const wrong = `{"error":"Wrong agent password","code":"unauthorized"}`
	want(t, s.as(nil, "POST", renewal, "", "Authorization", "Bearer wrong"), 401, wrong)
	want(t, s.as(nil, "POST", renewal, ""), 401, wrong)
	rec := s.as(nil, "POST", renewal, "", "Authorization", "Bearer "+agentPassword)
	want(t, rec, 200,
		`{"webhookUrl":"http://broker.example/api/agent/webhook?token=<jwt>","expiresAt":"+1h10m0s","cursor":{"epoch":0,"seq":0}}`)
	fresh := strings.TrimPrefix(field(t, rec, "webhookUrl"), publicURL)
	want(t, s.as(nil, "POST", fresh, event(task, "")), 200, `{"success":true,"accepted":1,"duplicates":0,"cursor":null}`)
}

// A webhook token is valid for the webhook of its task only.
func TestAWebhookTokenOpensNoOtherRoute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, hook := s.checkedIn()
	u, err := url.Parse(hook)
	must(t, err)
	token := u.Query().Get("token")
	for _, name := range guarded {
		method, path, _ := strings.Cut(name, " ")
		path = strings.Replace(path, ":id", "some-id", 1)
		want(t, s.as(nil, method, path, "", "Authorization", "Bearer "+token), 401, unauthorized)
		want(t, s.as(nil, method, path+"?token="+url.QueryEscape(token), ""), 401, unauthorized)
	}
	want(t, s.as(nil, "POST", "/api/agent/webhook", `{}`, "Authorization", "Bearer "+s.ada.token), 400,
		`{"error":"Invalid token format","code":"invalid"}`)
}

// While PostgreSQL is stopped the webhook answers 503; afterwards it
// accepts the same events.
func TestTheWebhookOutlivesPostgreSQL(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	must(t, schema.Migrate(server.URL()))
	s := newSite(t, onDatabase(server.URL()))
	task, hook := s.checkedIn()
	want(t, s.as(nil, "POST", hook, event(task, at("1", "1"))), 200,
		`{"success":true,"accepted":1,"duplicates":0,"cursor":{"epoch":1,"seq":1}}`)
	unknown, cold := s.checkedIn() // the secret of this task is in no cache
	send := func(hook, task string) *httptest.ResponseRecorder {
		return s.as(nil, "POST", hook, event(task, at("1", "2")))
	}
	server.Stop()
	for name, rec := range map[string]*httptest.ResponseRecorder{
		"known secret": send(hook, task), "unknown secret": send(cold, unknown),
	} {
		want(t, rec, 503, `{"error":"the database is not available","code":"unavailable"}`)
		if rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", name)
		}
	}
	want(t, s.as(nil, "GET", "/readyz", ""), 503, `{"error":"The database is not available","code":"unavailable"}`)
	server.Start()
	rec := send(hook, task)
	for range 20 { // connections of the pool that broke with the server
		if rec.Code != 503 {
			break
		}
		rec = send(hook, task)
	}
	want(t, rec, 200, `{"success":true,"accepted":1,"duplicates":0,"cursor":{"epoch":1,"seq":2}}`)
}

// The same event sent several times at once has one effect, and every
// sender gets the response of a stored event.
func TestTheSameEventAtOnceIsStoredOnce(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) option{
		"SQLite":     func(*testing.T) option { return func(*config) {} },
		"PostgreSQL": func(t *testing.T) option { return onDatabase(schema.Postgres(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, url(t))
			task, hook := s.checkedIn()
			answers := make(chan *httptest.ResponseRecorder, 8)
			for range cap(answers) {
				go func() { answers <- s.as(nil, "POST", hook, event(task, at("1", "1"))) }()
			}
			accepted := 0
			for range cap(answers) {
				rec := <-answers
				if strings.Contains(rec.Body.String(), `"accepted":1`) {
					accepted++
					want(t, rec, 200, `{"success":true,"accepted":1,"duplicates":0,"cursor":{"epoch":1,"seq":1}}`)
					continue
				}
				want(t, rec, 200, `{"success":true,"accepted":0,"duplicates":1,"cursor":{"epoch":1,"seq":1}}`)
			}
			messages := s.as(s.ada, "GET", "/api/tasks/"+task+"/messages", "").Body.String()
			if accepted != 1 || strings.Count(messages, `"message":"hello"`) != 1 {
				t.Errorf("accepted %d times: %s", accepted, messages)
			}
		})
	}
}
