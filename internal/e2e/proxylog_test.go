//go:build full

package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"bellhop/protocol"
)

// logsNoQuery sends tokens to each place that takes one in its query, in a turn too, and to places
// that the proxy itself answers for: errors have a log of their own.
func (f *front) logsNoQuery(t *testing.T) {
	const canary = "query-canary"
	site := strings.TrimSuffix(f.url, "/bellhop")
	streamToken := f.turnWithTokenInQuery(t)
	paths := []string{"/bellhop/api/agent/webhook", "/agents/ws/unknown", "/agents" + cutPath, "/elsewhere"}
	for _, path := range paths {
		for _, http2 := range []bool{false, true} {
			if http2 && strings.HasSuffix(path, cutPath) {
				continue // HAProxy answers it with REFUSED_STREAM, and Go tries again for a minute
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+path+"?token="+canary, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Referer", site+"/bellhop/?token="+canary)
			req.Header.Set(protocol.HeaderWebhookToken, canary)
			resp, err := f.transport(t, "127.0.0.1", http2).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if isCut := strings.HasSuffix(path, cutPath); isCut != (resp.StatusCode == http.StatusBadGateway) {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}
	}
	for _, path := range append(paths, "/agents/stream/") {
		eventually(t, "the log has "+path, func() bool { return strings.Contains(f.logged(), path) })
	}
	for line := range strings.Lines(f.logged()) {
		for _, secret := range []string{canary, streamToken, f.broker.token, "token="} {
			if strings.Contains(line, secret) {
				t.Errorf("the log has a token: %s", line)
				break
			}
		}
	}
}

// turnWithTokenInQuery runs a turn as a frontend that cannot set headers, and returns its token.
func (f *front) turnWithTokenInQuery(t *testing.T) string {
	t.Helper()
	answer, err := f.user(t).CheckIn(t.Context(), &protocol.CheckInRequest{TaskID: f.task(t), Message: "list"})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, answer.StreamURL+"?token="+answer.StreamToken,
		strings.NewReader(`{"prompt":"list"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.transport(t, "127.0.0.1", true).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	stream, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(stream), `"type":"finish"`) {
		t.Fatalf("the turn: %s, %v, %.300s", resp.Status, err, stream)
	}
	return answer.StreamToken
}
