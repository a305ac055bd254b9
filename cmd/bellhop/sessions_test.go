package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestSessionsAreReleasedByTheirBroker(t *testing.T) {
	answers := map[string]string{
		"GET b1 ":   `{"sessions":[{"sessionId":"s1","keyed":true},{"sessionId":"s2","keyed":false}],"nextAfter":"s2"}`,
		"GET b1 s2": `{"sessions":[{"sessionId":"s3","keyed":true}],"nextAfter":""}`,
		"GET b2 ":   `{"sessions":[{"sessionId":"s4","keyed":false}],"nextAfter":""}`,
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/session/"), "/")
			_, _ = w.Write([]byte(`{"success":true,"sessionId":"` + id + `"}`))
			return
		}
		_, _ = w.Write([]byte(answers[r.Method+" "+r.URL.Query().Get("brokerId")+" "+r.URL.Query().Get("after")]))
	}))
	defer host.Close()
	for broker, want := range map[string]string{
		"b1": "s1\ns3\n",
		"b2": "no session of the broker b2 is bound to a key\n",
	} {
		code, stdout, stderr := runCommand(t, "sessions", "release", "--host", host.URL,
			"--password-file", writeSecret(t, "p"), "--data", t.TempDir(), "--broker", broker)
		if code != 0 || stdout != want {
			t.Errorf("%s: exit %d, %q, want %q\n%s", broker, code, stdout, want, stderr)
		}
	}
}
