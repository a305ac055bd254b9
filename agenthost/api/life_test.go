package api_test

import (
	"net/http"
	"testing"

	"bellhop/agenthost/api"
	"bellhop/protocol"
)

func TestEveryAnswerNamesTheHostsLife(t *testing.T) {
	t.Parallel()
	life := protocol.NewLife("h", "").Short()
	h := newHost(t, func(a *api.API, _ *http.Server) { a.Life = life })
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/status": 401, "/nowhere": 404, "/session/s": 401} {
		resp, err := http.Get(h.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get(protocol.HeaderLife); got != life || resp.StatusCode != status {
			t.Errorf("%s: %d, life %q", path, resp.StatusCode, got)
		}
	}
}
