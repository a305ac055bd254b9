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
