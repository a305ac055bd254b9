package e2e

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"bellhop/internal/testenv/faultproxy"
)

var (
	quiet  = slog.New(slog.DiscardHandler)
	pass   = faultproxy.Pass()
	refuse = faultproxy.Refuse()
)

// call sends an empty JSON object and returns the status.
func call(t testing.TB, method, url, authorization string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// withPasswordOnly calls the host as one who knows only its password, and returns the status.
func (s *stack) withPasswordOnly(method, path string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.host.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+hostPassword)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
