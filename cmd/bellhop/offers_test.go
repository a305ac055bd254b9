package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWhatHostsOfferIsListed(t *testing.T) {
	const offers = `{"agents":[],"hosts":[{"hostId":"h1","name":"box","online":true,"offer":{"defaultAgent":"demo","agents":[` +
		`{"id":"demo","title":"Demo","kind":"jsonl","installed":true,"version":"1.2","models":[],"modes":[]},` +
		`{"id":"codex","title":"Codex","kind":"codex","installed":false,"hasKey":false,"defaultModel":"m","models":[],"modes":[],"problem":"Missing"}],` +
		`"projects":[{"name":"shop","isRepository":true,"defaultBranch":"main","branches":["main","next"]},` +
		`{"name":"lost","isRepository":false,"branches":[],"problem":"Gone"}],"permissionModes":[]}},` +
		`{"hostId":"h2","name":"far","online":false,"problem":"No answer"}]}`
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/agents" || r.Header.Get("Authorization") != "Bearer geheim" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"Unauthorized","code":"unauthorized"}`))
			return
		}
		_, _ = w.Write([]byte(offers))
	}))
	defer broker.Close()
	for _, c := range []struct {
		args, token string
		code        int
		lines       []string
	}{
		{"agents offered", "geheim", 0, []string{
			"HOST AGENT VERSION KEY MODEL STATE", "box demo 1.2 ? - installed",
			"box codex - no m Missing", "far (offline) - - - - No answer",
		}},
		{"projects", "geheim", 0, []string{
			"HOST PROJECT DEFAULT BRANCHES", "box shop main main next", "box lost - Gone", "far (offline) - - No answer",
		}},
		{"projects --json", "geheim", 0, []string{`"defaultBranch": "main",`}},
		{"agents offered --json", "geheim", 0, []string{`"hasKey": false,`}},
		{"projects", "wrong", 1, []string{"Unauthorized"}},
	} {
		t.Run(c.args+" "+c.token, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, append(strings.Fields(c.args), "--url", broker.URL,
				"--token-file", writeSecret(t, c.token))...)
			var out strings.Builder
			for line := range strings.Lines(stdout + stderr) {
				out.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
			}
			for _, line := range c.lines {
				if code != c.code || !strings.Contains(out.String(), line) {
					t.Errorf("exit %d, no %q in\n%s", code, line, out.String())
				}
			}
		})
	}
}
