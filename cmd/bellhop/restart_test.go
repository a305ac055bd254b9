package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRestartAndStopCallTheHost(t *testing.T) {
	answers := map[string]string{
		"POST /session/s1/restart":    `{"success":true,"sessionId":"s1","endedTurn":"t1"}`,
		"POST /session/s2/restart":    `{"success":true,"sessionId":"s2","endedTurn":""}`,
		"POST /projects/a%2Fb/stop":   `{"project":"a/b","stopped":[{"sessionId":"s1","endedTurn":"t1"},{"sessionId":"s2","endedTurn":""}]}`,
		"POST /projects/nothing/stop": `{"project":"nothing","stopped":[]}`,
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.Method+" "+r.URL.EscapedPath()]
		if !known || r.Header.Get("Authorization") != "Bearer geheim" {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"error":"Session not found","code":"not_found","hint":"It was deleted"}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer host.Close()
	for _, c := range []struct {
		args   string
		code   int
		output string
	}{
		{"agents restart s1", 0, "restarted the agent of s1, ended turn t1\n"},
		{"agents restart s2", 0, "restarted the agent of s2\n"},
		{"agents restart s3", 1, "Session not found"},
		{"agents restart", 2, "<session>"},
		{"workspaces stop --project a/b", 0, "stopped the agent of s1, ended turn t1\nstopped the agent of s2\n"},
		{"workspaces stop --project nothing", 0, "no session of the project nothing has an agent\n"},
		{"workspaces stop", 2, "--project"},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := append(strings.Fields(c.args), "--host", host.URL, "--password-file", writeSecret(t, "geheim"))
			code, stdout, stderr := runCommand(t, args...)
			if code != c.code || !strings.Contains(stdout+stderr, c.output) {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}
