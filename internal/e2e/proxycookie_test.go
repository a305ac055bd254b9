//go:build full

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// cutPath is a path of cookieLog that closes the connection instead of an answer.
const cutPath = "/cut"

// cookieLog is a server in front of a host that records the cookies which reach the host.
type cookieLog struct {
	addr string

	mu   sync.Mutex
	seen map[string]string // by path
}

func logCookies(t *testing.T, host string) *cookieLog {
	t.Helper()
	target, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	log := &cookieLog{seen: map[string]string{}}
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
			r.Out.Header[name] = r.In.Header[name]
		}
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == cutPath {
			panic(http.ErrAbortHandler)
		}
		log.mu.Lock()
		log.seen[r.URL.Path] = r.Header.Get("Cookie")
		log.mu.Unlock()
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	log.addr = strings.TrimPrefix(server.URL, "http://")
	return log
}

// keepsTheCookie signs in, and opens the host's address in the same browser: broker and host share a name.
func (f *front) keepsTheCookie(t *testing.T) {
	login := fmt.Sprintf(`{"email":%q,"password":%q}`, userEmail, userPassword)
	resp, err := f.request(t, "127.0.0.1", http.MethodPost, "/api/auth/login", login,
		http.Header{"Content-Type": {"application/json"}, "Sec-Fetch-Site": {"same-origin"}})
	if err != nil || len(resp.Cookies()) != 1 {
		t.Fatalf("sign-in: %v, %v", resp, err)
	}
	cookie := http.Header{"Cookie": {resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value}}
	if resp, err = f.get(t, "/api/auth/me", cookie); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the broker did not get the cookie: %v, %v", resp, err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		strings.TrimSuffix(f.url, "/bellhop")+"/agents/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = cookie
	if resp, err = f.transport(t, "127.0.0.1", true).RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	f.cookies.mu.Lock()
	defer f.cookies.mu.Unlock()
	if got, asked := f.cookies.seen["/healthz"]; resp.StatusCode != http.StatusOK || !asked || got != "" {
		t.Errorf("the host answered %s and got the cookie %q", resp.Status, got)
	}
}
