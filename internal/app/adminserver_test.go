package app

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

const adminToken = "canary-admin-token-5b1e"

// serveAdmin serves an admin listener until the test ends.
func serveAdmin(t *testing.T, listen string) *server {
	t.Helper()
	config := adminConfig{
		Variable: "BELLHOP_ADMIN_LISTEN", Listen: listen, SecretVariable: "BELLHOP_ADMIN_TOKEN",
		Secret: seal.NewSecret(adminToken), Log: slog.New(slog.DiscardHandler),
	}
	s, err := config.open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("up 1\n"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	t.Cleanup(func() {
		if err := s.http.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return s
}

// ask sends a GET with an Authorization header, "" for none.
func ask(t *testing.T, url, authorization string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(content)
}

func TestTheAdminListenerNeedsItsSecret(t *testing.T) {
	t.Parallel()
	s := serveAdmin(t, "127.0.0.1:0")
	basic, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	basic.SetBasicAuth("admin", adminToken)
	for _, path := range []string{"/metrics", "/debug/pprof/heap"} {
		for authorization, want := range map[string]int{
			"": 401, "Bearer wrong": 401, "Basic wrong": 401, "Bearer ": 401,
			"Bearer " + adminToken: 200, basic.Header.Get("Authorization"): 200,
		} {
			if got, body := ask(t, s.url+path, authorization); got != want {
				t.Errorf("%s with %q: %d %.100s", path, authorization, got, body)
			}
		}
	}
	for range 100 * wrongBurst { // a slow machine gets back some of the burst meanwhile
		if status, _ := ask(t, s.url+"/metrics", "Bearer wrong"); status == 429 {
			if status, _ := ask(t, s.url+"/metrics", "Bearer "+adminToken); status != 200 {
				t.Errorf("the right secret is limited: %d", status)
			}
			return
		}
	}
	t.Error("wrong secrets are not limited")
}

// Pages in a browser on this machine must not read it, and no cache may keep it.
func TestTheAdminListenerIsNotForPages(t *testing.T) {
	t.Parallel()
	s := serveAdmin(t, "127.0.0.1:0")
	for _, path := range []string{"/metrics", "/debug/pprof/goroutine"} {
		for _, c := range []struct {
			name, host, origin string
			want               int
		}{
			{"a program", "", "", 200},
			{"another name for this machine", "rebound.example", "", 403},
			{"a page of another origin", "", "https://page.example", 403},
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = c.host
			req.Header.Set("Authorization", "Bearer "+adminToken)
			if c.origin != "" {
				req.Header.Set("Origin", c.origin)
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("%s, %s: %d, want %d", path, c.name, resp.StatusCode, c.want)
			}
			if kept := resp.Header.Get("Cache-Control"); c.want == 200 && kept != "no-store" {
				t.Errorf("%s: Cache-Control is %q", path, kept)
			}
		}
	}
}

func TestAnAdminListenerWithoutASecretOpensNothing(t *testing.T) {
	t.Parallel()
	s := &adminServer{wrong: httpapi.NewLimiter(httpapi.LimiterOptions{Rate: wrongPerSecond, Burst: wrongBurst})}
	e := httpapi.New(httpapi.Options{Log: slog.New(slog.DiscardHandler)})
	s.routes(e)
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/debug/pprof/heap", http.NoBody))
	if rec.Code != http.StatusUnauthorized {
		t.Errorf("%d %.100s", rec.Code, rec.Body)
	}
}

func TestAShortAdminTokenIsRefused(t *testing.T) {
	t.Parallel()
	config := adminConfig{
		Variable: "BELLHOP_ADMIN_LISTEN", Listen: ":0", SecretVariable: "BELLHOP_ADMIN_TOKEN",
		Secret: seal.NewSecret("short"), Log: slog.New(slog.DiscardHandler),
	}
	_, err := config.open(http.NotFoundHandler())
	if protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), "BELLHOP_ADMIN_TOKEN") {
		t.Errorf("got %v", err)
	}
}

// The API of a host may be on loopback, with a short password, while its admin listener is not.
func TestAHostsAdminListenerThatOthersReachNeedsALongPassword(t *testing.T) {
	t.Parallel()
	for address, isRefused := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		config := adminConfig{
			Variable: "BELLHOP_HOST_ADMIN_LISTEN", Listen: address, Secret: seal.NewSecret("short"),
			Log: slog.New(slog.DiscardHandler),
		}
		s, err := config.open(http.NotFoundHandler())
		if (protocol.CodeOf(err) == protocol.CodeInvalid) != isRefused {
			t.Errorf("%s: %v", address, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheAdminListenerIsOnLoopback(t *testing.T) {
	t.Parallel()
	s := serveAdmin(t, ":0")
	if addr := s.listener.Addr().(*net.TCPAddr); !addr.IP.IsLoopback() {
		t.Errorf("it listens on %s", addr)
	}
}

func TestThereIsNoAdminListenerUnlessConfigured(t *testing.T) {
	t.Parallel()
	s, err := (&adminConfig{SecretVariable: "BELLHOP_ADMIN_TOKEN"}).open(http.NotFoundHandler())
	if s != nil || err != nil {
		t.Errorf("got %v, %v", s, err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

func TestProfilesAreServedWithinLimits(t *testing.T) {
	t.Parallel()
	s := serveAdmin(t, "127.0.0.1:0")
	for path, want := range map[string]int{
		"goroutine": 200, "heap": 200, "allocs": 200, "block": 200, "mutex": 200, "threadcreate": 200,
		"profile?seconds=1": 200, "trace?seconds=1": 200, "cmdline": 404, "symbol": 404, "": 404, "no-such": 404,
		"profile?seconds=61": 400, "trace?seconds=-1": 400, "heap?seconds=3600": 400, "profile?seconds=x": 400,
	} {
		if got, body := ask(t, s.url+"/debug/pprof/"+path, "Bearer "+adminToken); got != want {
			t.Errorf("%s: %d %.100q", path, got, body)
		}
	}
}
