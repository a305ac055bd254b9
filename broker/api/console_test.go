package api_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"bellhop/broker"
	"bellhop/broker/api"
	"bellhop/protocol"
	"bellhop/web"
)

// testConsole has a page and a file.
func testConsole(t *testing.T, auth api.Auth, sessions *broker.Sessions) *web.Console {
	t.Helper()
	console, err := web.New(web.Options{
		Files: fstest.MapFS{
			"index.html":  {Data: []byte(`<script id="bellhop-config" type="application/json">{}</script>`)},
			"assets/a.js": {Data: []byte("1")},
		},
		Visitor: api.Visitor(auth, sessions),
	})
	must(t, err)
	return console
}

func TestTheConsoleServesPathsWithoutARoute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const page, html = `<script id="bellhop-config" type="application/json">{"base":"/","named":true,"signedIn":false,"version":""}</script>`, "text/html,*/*"
	for _, c := range []struct {
		name, method, path, accept string
		status                     int
		body                       string
	}{
		{"the root", "GET", "/", "", 200, page},
		{"a file", "GET", "/assets/a.js", "", 200, "1"},
		{"a missing file", "GET", "/assets/b.js", html, 404, noRoute},
		{"a page of the console", "GET", "/tasks/some-id", html, 200, page},
		{"a request that is not for a page", "GET", "/tasks/some-id", "application/json", 404, noRoute},
		{"the API", "GET", "/api/nonsense", html, 404, noRoute},
		{"an unknown task", "GET", "/api/tasks/some-id", html, 401, unauthorized},
		{"another method", "POST", "/tasks", html, 404, noRoute},
	} {
		t.Run(c.name, func(t *testing.T) {
			want(t, s.as(nil, c.method, c.path, "", "Accept", c.accept), c.status, c.body)
		})
	}
}

func TestABrowserIsMovedToTheConsolesOwnName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.PublicURL = "http://127.0.0.1:7700/sub"
	handler := s.api.Handler()
	const browser, page = "Mozilla/5.0 Chrome/156.0.0.0", "text/html,*/*"
	send := func(method, target, agent string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(`{"email":"ada@example.com","password":"`+password+`"}`))
		r.Header.Set("User-Agent", agent)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		return rec
	}
	const named = "http://bellhop.localhost:7700"
	for name, c := range map[string]struct{ target, agent, accept, location string }{
		"a page":              {"http://127.0.0.1:7700/sub/", browser, page, named + "/sub/"},
		"a task and a query":  {"http://localhost:7700/sub/tasks/a%2Fb?q=1", browser, page, named + "/sub/tasks/a%2Fb?q=1"},
		"a forwarded port":    {"http://localhost:9000/", browser, page, "http://bellhop.localhost:9000/sub/"},
		"at its own name":     {named + "/", browser, page, ""},
		"a program":           {"http://127.0.0.1:7700/", "curl/8.0", "*/*", ""},
		"a file":              {"http://127.0.0.1:7700/assets/a.js", browser, "*/*", ""},
		"the API":             {"http://127.0.0.1:7700/healthz", browser, page, ""},
		"a page with slashes": {"http://127.0.0.1:7700//evil.example", browser, page, named + "/sub//evil.example"},
	} {
		rec := send("GET", c.target, c.agent, "Accept", c.accept)
		if got := rec.Header().Get("Location"); got != c.location || (rec.Code == http.StatusFound) != (c.location != "") {
			t.Errorf("%s: %d to %q, not %q", name, rec.Code, got, c.location)
		}
	}
	cookie := cookieOf(t, send("POST", "http://127.0.0.1:7700/api/auth/login", browser))
	const me = "http://127.0.0.1:7700/api/auth/me"
	if rec := send("GET", me, browser, "Cookie", cookie); rec.Code != 200 {
		t.Fatal(rec.Body)
	}
	moved := send("GET", "http://127.0.0.1:7700/", browser, "Accept", page, "Cookie", cookie).Result()
	if left := moved.Cookies(); len(left) != 1 || left[0].MaxAge >= 0 || moved.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the browser keeps a cookie that other ports get: %v, %v", left, moved.Header)
	}
	if rec := send("GET", me, browser, "Cookie", cookie); rec.Code != 401 {
		t.Errorf("a session whose cookie other ports may have goes on: %d", rec.Code)
	}
}

func TestTheConsoleMayCallTheHostsOfItsUser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	policy := func(who *person) string {
		t.Helper()
		all := s.as(who, "GET", "/", "").Header().Get("Content-Security-Policy")
		_, connect, _ := strings.Cut(all, "connect-src ")
		connect, _, _ = strings.Cut(connect, ";")
		return connect
	}
	for _, host := range []string{
		`{"name":"direct","url":"https://direct.example:7701","password":"x"}`,
		`{"name":"relayed","url":"https://relayed.example","password":"x","reach":"relay"}`,
	} {
		if rec := s.as(s.admin, "POST", "/api/hosts", host); rec.Code != 201 {
			t.Fatal(rec.Body)
		}
	}
	const direct = "https://direct.example:7701 wss://direct.example:7701"
	id := s.newTask("")
	for name, c := range map[string]struct {
		who  *person
		want string
	}{
		"a visitor without a session sees no host":          {nil, "'self'"},
		"every signed-in user reaches the registered hosts": {s.bob, "'self' " + direct},
	} {
		if got := policy(c.who); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	rec := s.as(s.ada, "POST", "/api/agent/attach", `{"taskId":"`+id+`"}`)
	if rec.Code != 200 {
		t.Fatal(rec.Body)
	}
	if got := policy(s.ada); got != "'self' http://agents.example ws://agents.example "+direct {
		t.Errorf("a task's own host: %s", got)
	}
	if got := policy(s.bob); strings.Contains(got, "agents.example") {
		t.Errorf("the host of another user's task: %s", got)
	}
}

func TestReachIsDirectOrRelay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newTask("")
	const bad = `{"error":"reach must be \"direct\" or \"relay\"","code":"invalid"}`
	want(t, s.as(s.admin, "POST", "/api/hosts", `{"name":"a","url":"http://a.example","password":"x","reach":"tunnel"}`),
		400, bad)
	want(t, s.as(s.ada, "POST", "/api/agent", `{"taskId":"`+id+`","message":"m","reach":"tunnel"}`), 400, bad)
	want(t, s.as(s.ada, "POST", "/api/agent/attach", `{"taskId":"`+id+`","reach":"tunnel"}`), 400, bad)
	for path, body := range map[string]string{"/api/agent": `,"message":"m"`, "/api/agent/attach": ""} {
		rec := s.as(s.ada, "POST", path, `{"taskId":"`+id+`"`+body+`,"reach":"relay"}`)
		if got := field(t, rec, "streamUrl"); rec.Code != 200 || got != publicURL+"/sub/api/agent/stream/"+id ||
			field(t, rec, "reach") != string(protocol.ReachRelay) {
			t.Errorf("%s: %s", path, rec.Body)
		}
	}
}

func TestTheBasePathMayBeSpelledInAnyWay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.PublicURL = publicURL + "/sub"
	handler := s.api.Handler()
	for path, want := range map[string]string{
		"/sub/healthz":                   "200",
		"/su%62/healthz":                 "200",
		"/healthz":                       "200", // a proxy has removed the base path
		"/sub/tasks/a%2Fb":               "200 page",
		"/su%62/tasks/a%2Fb":             "200 page",
		"/sub":                           "200 page",
		"/sub/api/tasks/a%2Fb":           "401",
		"/su%62/api/nonsense%2Fb":        "404",
		"/sub/api/agent/stream/a%2Fb":    "404",
		"/sub/assets/..%2f..%2fsecret":   "404",
		"/sub/assets/%2e%2e/%2e%2e/.env": "404",
		"/subway":                        "200 page",
	} {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Accept", "text/html")
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		got := strconv.Itoa(rec.Code)
		if strings.HasPrefix(rec.Body.String(), "<script") {
			got += " page"
		}
		if got != want || rec.Code == 404 && !strings.HasPrefix(rec.Body.String(), `{"error"`) {
			t.Errorf("%s: %s, not %s: %s", path, got, want, rec.Body)
		}
		if rec.Code == 200 && !slices.Contains(rec.Header().Values("Vary"), "Origin") {
			t.Errorf("%s: Vary %q", path, rec.Header().Values("Vary"))
		}
	}
}
