package api_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const app = "https://app.example.com"

func TestOnlyListedOriginsMayReadAnswersAndThenAllOfThem(t *testing.T) {
	t.Parallel()
	s := newSite(t, allowOrigins(app))
	for _, c := range []struct {
		name, origin string
		allowed      bool
	}{
		{"listed", app, true},
		{"77 null", "null", false},
		{"77 a longer name", "https://app.example.com.evil.io", false},
		{"another scheme", "http://app.example.com", false},
		{"none", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for path, status := range map[string]int{
				"/api/tasks": 200, "/api/nonsense": 404, "/api/agent": 405, "/api/tasks/none": 404, "/api/tasks?limit=x": 400,
			} {
				rec := s.as(s.ada, "GET", path, "", "Origin", c.origin)
				if rec.Code != status {
					t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
				}
				got := rec.Header().Get("Access-Control-Allow-Origin")
				if c.allowed && got != c.origin || !c.allowed && got != "" {
					t.Errorf("%s: allows %q", path, got)
				}
				if rec.Header().Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("%s: cookies are allowed", path)
				}
				if !strings.Contains(strings.Join(rec.Header().Values("Vary"), ","), "Origin") {
					t.Errorf("%s: Vary is %v", path, rec.Header().Values("Vary"))
				}
			}
			if got := s.as(nil, "GET", "/api/tasks", "", "Origin",
				c.origin).Header().Get("Access-Control-Allow-Origin"); (got != "") != c.allowed {
				t.Errorf("78: a 401 allows %q", got)
			}
		})
	}
}

func TestAPreflightNeedsNoCaller(t *testing.T) {
	t.Parallel()
	s := newSite(t, allowOrigins(app))
	rec := s.as(nil, "OPTIONS", "/api/agent", "", "Origin", app, "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization")
	if rec.Code != 204 || rec.Header().Get("Access-Control-Allow-Origin") != app ||
		!strings.Contains(rec.Header().Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("got %d %v", rec.Code, rec.Header())
	}
	rec = s.as(nil, "OPTIONS", "/api/agent", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	if rec.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got %d %v", rec.Code, rec.Header())
	}
}

func TestOnLoopbackHostAndOriginMustBeOurs(t *testing.T) {
	t.Parallel()
	s := newSite(t, allowOrigins(app))
	server := httptest.NewServer(s.echo)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	must(t, err)
	for _, c := range []struct {
		name, path, host, origin string
		status                   int
	}{
		{"address", "/healthz", "127.0.0.1:" + port, "", 200},
		{"localhost", "/healthz", "localhost:" + port, "", 200},
		{"the public URL's name", "/healthz", "broker.example", "", 200},
		{"the name hosts use", "/healthz", "hooks.example:8080", "", 200},
		{"a rebound name", "/api/auth/me", "evil.example:" + port, "", 403},
		{"a health check by any name", "/healthz", "upstream", "", 200},
		{"a page of ours", "/healthz", "127.0.0.1:" + port, "http://127.0.0.1:" + port, 200},
		{"an allowed page", "/healthz", "127.0.0.1:" + port, app, 200},
		{"another page", "/healthz", "127.0.0.1:" + port, "https://evil.example", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+c.path, http.NoBody)
			must(t, err)
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			resp, err := client.Do(r)
			must(t, err)
			_ = resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("got %d", resp.StatusCode)
			}
		})
	}
}
