package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bellhop/agenthost/api"
	"bellhop/crypto/seal"
	"bellhop/internal/diskspace"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

func TestWrongMethodsAndUnknownRoutes(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	notFound := errorBody("Not found", protocol.CodeNotFound, "")
	notAllowed := errorBody("Method not allowed", protocol.CodeMethodNotAllowed, "")
	for name, c := range map[string]struct {
		method, path string
		status       int
		allow, body  string
	}{
		"PUT on /session":           {"PUT", "/session", 405, "OPTIONS, GET, POST", notAllowed},
		"PUT on a stream":           {"PUT", "/stream/s1", 405, "OPTIONS, GET, POST", notAllowed},
		"DELETE on a stream":        {"DELETE", "/stream/s1", 405, "OPTIONS, GET, POST", notAllowed},
		"POST on events":            {"POST", "/session/s1/events", 405, "OPTIONS, GET", notAllowed},
		"GET on interrupt":          {"GET", "/session/s1/interrupt", 405, "OPTIONS, POST", notAllowed},
		"POST on status":            {"POST", "/status", 405, "OPTIONS, GET", notAllowed},
		"HEAD has no body":          {"HEAD", "/stream/s1", 405, "OPTIONS, GET, POST", ""},
		"OPTIONS lists the methods": {"OPTIONS", "/stream/s1", 204, "OPTIONS, GET, POST", ""},
		"an unknown route":          {"GET", "/nothing", 404, "", notFound},
		"HEAD of an unknown route":  {"HEAD", "/nothing", 404, "", ""},
		"a trailing slash":          {"POST", "/session/", 404, "", notFound},
		"no session named":          {"GET", "/stream/", 404, "", notFound},
		"the root":                  {"GET", "/", 404, "", notFound},
		"DELETE on the metrics":     {"DELETE", "/metrics", 405, "OPTIONS, GET", notAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, body := h.call(request{c.method, c.path, "", nil})
			allow := strings.Split(header.Get("Allow"), ", ")
			slices.Sort(allow)
			wanted := strings.Split(c.allow, ", ")
			slices.Sort(wanted)
			if status != c.status || !slices.Equal(allow, wanted) {
				t.Errorf("got %d, Allow %q", status, allow)
			}
			expectEqual(t, "body", body, c.body)
		})
	}
}

func TestLowDiskSpaceIsReported(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(a *api.API, _ *http.Server) {
		a.Disk = diskspace.Monitor{Path: t.TempDir(), WarnBelow: 1 << 62}
	})
	_, _, body := h.call(request{"GET", "/readyz", "", nil})
	expectEqual(t, "/readyz", body, `{"status":"ready","storage":"low"}`)
	_, _, body = h.call(request{"GET", "/status", "", []string{bearerPassword}})
	var status struct {
		Notices []string        `json:"notices"`
		Disk    diskspace.Space `json:"disk"`
	}
	if err := json.Unmarshal([]byte(body), &status); err != nil || len(status.Notices) != 1 || !status.Disk.Low ||
		status.Disk.FreeBytes == 0 {
		t.Errorf("%s: %v", body, err)
	}
}

func TestHealthIsOpen(t *testing.T) {
	t.Parallel()
	ready := &atomic.Bool{}
	h := newHost(t, func(a *api.API, _ *http.Server) { a.Ready = readiness(ready) })
	for _, c := range []struct {
		path   string
		ready  bool
		status int
		body   string
	}{
		{"/healthz", true, 200, `{"status":"ok"}`},
		{"/readyz", true, 200, `{"status":"ready"}`},
		{"/healthz", false, 200, `{"status":"ok"}`},
		{"/readyz", false, 503, errorBody("The host is not ready", protocol.CodeUnavailable, "")},
	} {
		ready.Store(c.ready)
		status, _, body := h.call(request{"GET", c.path, "", nil})
		if status != c.status {
			t.Errorf("%s: %d", c.path, status)
		}
		expectEqual(t, c.path, body, c.body)
	}
}

// everyAnswer returns a request for each status of the API.
func everyAnswer(h *host) map[string]request {
	token := h.open("s1")
	return map[string]request{
		"200": {"GET", "/status", "", []string{bearerPassword}},
		"204": {"GET", "/stream/s1?token=" + token, "", nil},
		"400": {"POST", "/session", `{}`, []string{bearerPassword}},
		"401": {"GET", "/stream/s1", "", nil},
		"404": {"GET", "/nothing", "", nil},
		"405": {"PUT", "/session", "", nil},
		"413": {"POST", "/session", `{"sessionId":"` + strings.Repeat("a", 2<<20) + `"}`, []string{bearerPassword}},
		"415": {"POST", "/session", `x`, []string{bearerPassword, "Content-Type: text/plain"}},
		"503": {"GET", "/readyz", "", nil},
	}
}

func TestEveryResponseHasCORSHeadersForAllowedOriginsOnly(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(a *api.API, _ *http.Server) { a.Ready = readiness(&atomic.Bool{}) })
	for status, q := range everyAnswer(h) {
		t.Run(status, func(t *testing.T) {
			q.header = append(q.header, "Origin: "+console)
			got, header, body := h.call(q)
			if http.StatusText(got) == "" || status != itoa(got) {
				t.Fatalf("got %d %s", got, body)
			}
			expectEqual(t, "origin", header.Get("Access-Control-Allow-Origin"), console)
			expectEqual(t, "credentials", header.Get("Access-Control-Allow-Credentials"), "")
			expectEqual(t, "vary", header.Get("Vary"), "Origin")
			expectEqual(t, "referrer", header.Get("Referrer-Policy"), "no-referrer")
			expectEqual(t, "sniffing", header.Get("X-Content-Type-Options"), "nosniff")
			expectEqual(t, "cache", header.Get("Cache-Control"), "no-store")
		})
	}
}

func TestStreamsHaveCORSHeaders(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	s := h.stream(request{
		"POST", "/stream/s1?token=" + h.announce("s1", "t1"), `{"prompt":"text hello"}`, []string{"Origin: " + console},
	})
	header := s.resp.Header
	expectEqual(t, "origin", header.Get("Access-Control-Allow-Origin"), console)
	expectEqual(t, "cache", header.Get("Cache-Control"), "no-store, no-transform")
	expectEqual(t, "buffering", header.Get("X-Accel-Buffering"), "no")
	expectEqual(t, "referrer", header.Get("Referrer-Policy"), "no-referrer")
	s.readAll()
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	ask := []string{
		"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type",
		"Access-Control-Request-Private-Network: true",
	}
	for _, path := range []string{"/stream/s1?token=x", "/session/s1/interrupt", "/nothing"} {
		status, header, body := h.call(request{"OPTIONS", path, "", append(ask, "Origin: "+console)})
		if status != http.StatusNoContent || body != "" {
			t.Errorf("%s: %d %s", path, status, body)
		}
		expectEqual(t, "origin", header.Get("Access-Control-Allow-Origin"), console)
		expectEqual(t, "methods", header.Get("Access-Control-Allow-Methods"), "GET, POST, DELETE")
		expectEqual(t, "headers", header.Get("Access-Control-Allow-Headers"), "Authorization, Content-Type, Last-Event-ID, Bellhop-Request")
		expectEqual(t, "private network", header.Get("Access-Control-Allow-Private-Network"), "true")
	}
}

func TestOtherOriginsGetNoCORSHeaders(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	for _, origin := range []string{
		"null", console + ".evil.io", "http://console.example.com", console + ":444", "https://CONSOLE.example.com", "*",
	} {
		for _, method := range []string{"GET", "OPTIONS"} {
			_, header, _ := h.call(request{
				method, "/healthz", "", []string{"Origin: " + origin, "Access-Control-Request-Method: GET"},
			})
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s from %s: %s", method, origin, name)
				}
			}
		}
	}
	e := httpapi.New(httpapi.Options{})
	(&api.API{Password: seal.NewSecret(password), AllowedOrigins: []string{console}}).Routes(e)
	// Not on loopback the request succeeds, but the page cannot read the response.
	r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
	r.Header.Set("Origin", "https://evil.io")
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, r)
	if recorder.Code != http.StatusOK || recorder.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got %d %v", recorder.Code, recorder.Header())
	}
}

// Reliability AUTH-9.
func TestLoopbackAcceptsOnlyItsOwnHostNames(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(a *api.API, _ *http.Server) { a.PublicURL = "https://agents.example.com" })
	for name, c := range map[string]struct {
		path, header string
		status       int
	}{
		"localhost":              {"/healthz", "Host: localhost:7701", 200},
		"the public name":        {"/healthz", "Host: agents.example.com", 200},
		"a rebound name":         {"/status", "Host: evil.io", 403},
		"a health check":         {"/readyz", "Host: upstream", 200},
		"a page of another site": {"/healthz", "Origin: https://evil.io", 403},
		"a page of this machine": {"/healthz", "Origin: http://localhost:5173", 200},
		"an allowed page":        {"/healthz", "Origin: " + console, 200},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, body := h.call(request{"GET", c.path, "", []string{c.header}}); status != c.status {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
}
