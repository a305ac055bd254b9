package inbound_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bellhop/internal/httpapi"
	"bellhop/webhook/inbound"
)

func TestOtherMethodsAndPathsNeverRedirect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, path string
		status             int
		body               string
	}{
		{"GET", "GET", path, 405, `{"error":"Method not allowed","code":"method_not_allowed"}`},
		{"PUT", "PUT", path, 405, `{"error":"Method not allowed","code":"method_not_allowed"}`},
		{"HEAD", "HEAD", path, 405, ``},
		{"trailing slash", "POST", path + "/", 404, `{"error":"Not found","code":"not_found"}`},
		{"doubled slash", "POST", "/api//agent/webhook", 404, `{"error":"Not found","code":"not_found"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			got := s.do(httptest.NewRequest(c.method, c.path+"?token="+s.token(), http.NoBody))
			want(t, got, c.status, c.body)
			if allow := got.Header().Get("Allow"); c.status == 405 && !strings.Contains(allow, "POST") {
				t.Errorf("Allow is %q", allow)
			}
			if location := got.Header().Get("Location"); location != "" {
				t.Errorf("redirected to %q", location)
			}
		})
	}
}

func TestABodyThatIsNotAnEventStoresNothing(t *testing.T) {
	t.Parallel()
	event := func(more string) string {
		return `{"sessionId":"task-1","type":"text","id":"a","text":"b","timestamp":1` + more + `}`
	}
	bad := func(message string) string { return `{"error":"` + message + `","code":"invalid"}` }
	for _, c := range []struct {
		name, body string
		response   string
	}{
		{"empty", ``, `{"error":"The body is empty","code":"invalid","hint":"Send a JSON object"}`},
		{"array", `[]`, bad("The body must be a JSON object")},
		{"null", `null`, bad("The body must be a JSON object")},
		{"string", `"x"`, bad("The body must be a JSON object")},
		{"nested 10000 deep", strings.Repeat(`{"a":`, 10000), bad("The body is nested deeper than 64 levels")},
		{"duplicate keys", event(`,"id":"b"`), bad("Invalid JSON: duplicate member name (at byte 70)")},
		{"U+0000", event(`,"x":"\u0000"`), bad("The body holds U+0000, which cannot be stored")},
		{"invalid UTF-8", event(`,"x":"` + "\xff" + `"`), bad("Invalid JSON: invalid UTF-8 (at byte 75)")},
		{
			"lone surrogate", event(`,"x":"\ud800"`),
			bad("Invalid JSON: invalid surrogate pair `\\\\ud800\\\"}` in string (at byte 75)"),
		},
		{"1e400 as seq", event(`,"epoch":1,"seq":1e400`), bad("seq must be an integer")},
		{"-0 as seq", event(`,"epoch":1,"seq":-0`), bad("seq must be an integer")},
		{"2^63 as epoch", event(`,"epoch":9223372036854775808,"seq":1`), bad("epoch must be an integer")},
		{"epoch without seq", event(`,"epoch":1`), bad("epoch and seq come together or not at all")},
		{"eventId with a space", event(`,"eventId":"a b"`), bad("eventId must be 1–128 characters of A-Z a-z 0-9 _ : . -")},
		{"no type", `{"sessionId":"task-1"}`, bad("type is required")},
		{"no id", `{"sessionId":"task-1","type":"text","text":"b","timestamp":1}`, bad("id is required")},
		{
			"text is a number", `{"sessionId":"task-1","type":"text","id":"a","text":1,"timestamp":1}`,
			bad("text must be a string"),
		},
		{"another session", strings.Replace(text, "task-1", "task-2", 1), mismatch},
		{"no session", `{"type":"text","id":"a","text":"b","timestamp":1}`, mismatch},
		{"a batch for another session", `{"sessionId":"task-2","events":[` + text + `]}`, mismatch},
		{"a batch without session", `{"events":[` + text + `]}`, mismatch},
		{"an empty batch", `{"sessionId":"task-1","events":[]}`, bad("events holds no event")},
		{"events is no array", `{"sessionId":"task-1","events":1}`, bad("events must be an array")},
		{
			"a batch with a bad event names it",
			`{"sessionId":"task-1","events":[` + text + `,{"type":"text","id":"a","timestamp":1},{}]}`,
			`{"error":"text is required","code":"invalid","index":1}`,
		},
		{
			"a batch with another session's event names it",
			`{"sessionId":"task-1","events":[` + text + `,` + text + `,` + strings.Replace(text, "task-1", "task-2", 1) + `]}`,
			`{"error":"Session ID mismatch","code":"invalid","index":2}`,
		},
		{
			"a batch with a number in it", `{"sessionId":"task-1","events":[7]}`,
			`{"error":"The body must be a JSON object","code":"invalid","index":0}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			want(t, s.send(c.body), 400, c.response)
			if s.fakeDomain.eventCount() != 0 {
				t.Error("an event reached the domain")
			}
		})
	}
}

// A host drops an event only if the refusal has an index, so a named broker sends one with
// every refusal of content and with none of the token or the session.
func TestANamedBrokerNamesTheEventOfARefusal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hook := inbound.New(inbound.Options{
		Ingest: s.fakeDomain, Sessions: s.fakeDomain, Now: s.clock.Now, Incarnation: func() string { return "i1" },
	})
	s.echo = httpapi.New(httpapi.Options{Log: slog.New(slog.DiscardHandler)})
	s.echo.POST(path, hook.Handle)
	refused := func(message, index string) string {
		return `{"error":"` + message + `","code":"invalid"` + index + `,"incarnation":"i1"}`
	}
	noText := `{"sessionId":"task-1","type":"text","id":"a","timestamp":1}`
	for _, c := range []struct{ name, token, body, response string }{
		{"a bad event", s.token(), noText, refused("text is required", `,"index":0`)},
		{
			"a bad event of a batch", s.token(), `{"sessionId":"task-1","events":[` + text + `,` + noText + `]}`,
			refused("text is required", `,"index":1`),
		},
		{"a body that is no object", s.token(), `[]`, refused("The body must be a JSON object", `,"index":0`)},
		{"another session", s.token(), strings.Replace(text, "task-1", "task-2", 1), refused("Session ID mismatch", "")},
		{
			"a batch for another session", s.token(), `{"sessionId":"task-2","events":[` + text + `]}`,
			refused("Session ID mismatch", ""),
		},
		{"not a token", "x", text, refused("Invalid token format", "")},
		{"no token", "", text, refused("Missing token", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := post(path, c.body)
			if c.token != "" {
				r.URL.RawQuery = "token=" + c.token
			}
			want(t, s.do(r), 400, c.response)
		})
	}
}

func TestMediaTypesOtherThanPlainJSONAre415(t *testing.T) {
	t.Parallel()
	const media = `{"error":"The body must be JSON","code":"unsupported_media","hint":"Send Content-Type: application/json"}`
	const encoded = `{"error":"Encoded bodies are not accepted","code":"unsupported_media","hint":"Send it without Content-Encoding"}`
	for _, c := range []struct {
		name, contentType, encoding string
		status                      int
		body                        string
	}{
		{"json", "application/json", "", 200, acceptedOne},
		{"json in utf-8", "application/json; charset=UTF-8", "identity", 200, acceptedOne},
		{"gzip", "application/json", "gzip", 415, encoded},
		{"text", "text/plain", "", 415, media},
		{"none", "", "", 415, media},
		{"form", "application/x-www-form-urlencoded", "", 415, media},
		{"json in latin-1", "application/json; charset=iso-8859-1", "", 415, media},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			r, body := post(path+"?token="+s.token(), text)
			r.Header.Set("Content-Type", c.contentType)
			if c.encoding != "" {
				r.Header.Set("Content-Encoding", c.encoding)
			}
			want(t, s.do(r), c.status, c.body)
			if body.read != len(text) {
				t.Errorf("%d of %d bytes read", body.read, len(text))
			}
		})
	}
}

func TestBodyIsReadOnlyUpToTheCap(t *testing.T) {
	t.Parallel()
	const tooLarge = `{"error":"The body is too large","code":"too_large","hint":"The limit is 1 MiB"}`
	s := newSite(t)
	r, body := post(path+"?token="+s.token(), `{"x":"`+strings.Repeat("a", 5<<20)+`"}`)
	want(t, s.do(r), 413, tooLarge)
	if body.read < 1<<20 || body.read > 1<<20+1 {
		t.Errorf("%d bytes read", body.read)
	}
	endless := &recordedBody{Reader: spaces{}}
	r = httptest.NewRequest(http.MethodPost, path+"?token="+s.token(), endless)
	r.Header.Set("Content-Type", "application/json")
	want(t, s.do(r), 413, tooLarge)
	if endless.read > 1<<20+1 {
		t.Errorf("%d bytes read", endless.read)
	}
	fitting := `{"sessionId":"task-1","type":"text","id":"t1","text":"","timestamp":1}`
	fitting = strings.Replace(fitting, `"text":""`, `"text":"`+strings.Repeat("a", 1<<20-len(fitting))+`"`, 1)
	want(t, s.send(fitting), 200, acceptedOne)
}

// spaces never ends.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestABatchHoldsAtMost100Events(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	batch := func(n int) string {
		return `{"sessionId":"task-1","events":[` + strings.Repeat(text+",", n-1) + text + `]}`
	}
	want(t, s.send(batch(100)), 200, `{"success":true,"accepted":100,"duplicates":0,"cursor":null}`)
	want(t, s.send(`{"\u0073essionId":"task-1","\u0065vents":[`+text+`]}`), 200, acceptedOne)
	want(t, s.send(batch(101)), 413, `{"error":"events holds more than 100 events","code":"too_large"}`)
	if s.fakeDomain.eventCount() != 101 {
		t.Errorf("%d events reached the domain", s.fakeDomain.eventCount())
	}
}

func TestEventsReachTheDomainAsTheyWereSent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	unknown := `{ "type":"later", "sessionId":"task-1", "events":[1], "x":1.50 }`
	want(t, s.send(unknown), 200, acceptedOne)
	want(t, s.send(`{"sessionId":"task-1","events":[ {"type":"finish","finishReason":"stop","timestamp":2} ]}`),
		200, acceptedOne)
	raw := []string{string(s.fakeDomain.events[0].Raw), string(s.fakeDomain.events[1].Raw)}
	if raw[0] != unknown || raw[1] != `{"type":"finish","finishReason":"stop","timestamp":2}` {
		t.Errorf("got %q", raw)
	}
	if s.fakeDomain.events[0].Event.Type != "later" || s.fakeDomain.turns[0] != turnID {
		t.Errorf("got %+v in turn %q", s.fakeDomain.events[0].Event, s.fakeDomain.turns[0])
	}
}

func TestRenewalTakesATokenOfAnyAgeAndThePassword(t *testing.T) {
	t.Parallel()
	const renewed = `{"webhookUrl":"http://broker/hook","expiresAt":"2030-01-02T03:04:05Z"}`
	for _, c := range []struct {
		name          string
		query         func(s *site) string
		authorization string
		status        int
		body          string
	}{
		{"expired an hour ago", (*site).token, "Bearer agent-password", 200, renewed},
		{"wrong password", (*site).token, "Bearer nonsense", 401, `{"error":"Wrong agent password","code":"unauthorized"}`},
		{
			"another secret", func(s *site) string { return strings.Replace(s.sign(taskID), ".", ".e", 1) },
			"Bearer agent-password", 400, format,
		},
		{"another task's secret", func(s *site) string {
			return forge(`{"alg":"HS256"}`, `{"taskId":"task-1","iat":1,"exp":2,"aud":"agent-webhook"}`,
				s.fakeDomain.secrets[other])
		}, "Bearer agent-password", 401, invalid},
		{"no token", func(*site) string { return "" }, "Bearer agent-password", 400, missing},
		{"unknown task", func(s *site) string {
			return s.forge(`{"alg":"HS256"}`, `{"taskId":"task-9","iat":1,"exp":2,"aud":"agent-webhook"}`)
		}, "", 404, notFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			presented := c.query(s)
			s.clock.Advance(time.Hour)
			r := httptest.NewRequest(http.MethodPost, path+"/renew?token="+presented, http.NoBody)
			r.Header.Set("Authorization", c.authorization)
			want(t, s.do(r), c.status, c.body)
			if strings.Contains(s.logs.String(), "agent-password") {
				t.Errorf("the password is in the log:\n%s", s.logs)
			}
		})
	}
}
