package api_test

import (
	"net/http"
	"strings"
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

// The broker of the session cannot be asked. Nothing that another life requests happens until an operator says so.
func TestABrokerOfAnUnknownLifeReadsAndDoesNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	authorized := "Authorization: Bearer " + password
	life := protocol.HeaderLife + ": " + protocol.NewLife("b1", "").String()
	status, _, body := h.call(request{
		method: "POST", path: "/session", header: []string{authorized},
		body: `{"sessionId":"s1","webhookUrl":"http://broker.example/hook?token=x","brokerId":"b1"}`,
	})
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	sends := func(method, path, body string, want int) {
		t.Helper()
		status, _, got := h.call(request{method: method, path: path, body: body, header: []string{authorized, life}})
		if status != want || want == http.StatusServiceUnavailable && !strings.Contains(got, `"unavailable"`) {
			t.Errorf("%s %s: %d %s", method, path, status, got)
		}
	}
	const reconcile = `{"brokerId":"b1","incarnation":"i1"`
	sends("GET", "/session/s1/events", "", http.StatusOK)
	sends("POST", "/session/s1/interrupt", "", http.StatusServiceUnavailable)
	sends("POST", "/session/s1/revoke", "", http.StatusServiceUnavailable)
	sends("POST", "/revoke", `{"brokerId":"b1","credentials":["c"]}`, http.StatusServiceUnavailable)
	sends("POST", "/session", `{"sessionId":"s1","webhookUrl":"http://elsewhere.example/?token=x","brokerId":"b1"}`,
		http.StatusServiceUnavailable)
	sends("DELETE", "/session/s1", "", http.StatusServiceUnavailable)
	sends("POST", "/reconcile", reconcile+`}`, http.StatusServiceUnavailable)
	sends("POST", "/reconcile", reconcile+`,"force":true}`, http.StatusOK)
	sends("DELETE", "/session/s1", "", http.StatusOK)
}
