package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestATaskIsStartedFromATemplate(t *testing.T) {
	var got []string
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			got = append(got, r.URL.Path+" "+string(body))
		}
		answer := map[string]string{
			"/api/templates": `{"templates":[{"id":"t1","name":"Fix it","prompt":"p","agent":"claude","variables":[` +
				`{"name":"issue","required":true},{"name":"why"}]},{"id":"t2","name":"Old","prompt":"p","forAll":true}]}`,
			"/api/templates/t1/fill": `{"prompt":"Fix 42","task":{"title":"Fix 42","agent":"claude","model":"m"},"gone":[]}`,
			"/api/templates/t2/fill": `{"prompt":"Go","task":{"title":"Go"},"gone":[{"member":"hostId","value":"h9"}]}`,
			"/api/tasks":             `{"id":"task-1"}`, "/api/tasks/task-1/queue": `{}`,
		}[r.URL.Path]
		_, _ = w.Write([]byte(answer))
	}))
	defer broker.Close()
	t.Setenv("BELLHOP_URL", broker.URL)
	t.Setenv("BELLHOP_TOKEN", "geheim")
	code, stdout, stderr := runCommand(t, "templates", "list")
	var lines []string
	for line := range strings.Lines(stdout) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	if want := "NAME FOR VARIABLES AGENT PROJECT|Fix it you issue*,why claude -|Old all users - - -"; code != 0 ||
		strings.Join(lines, "|") != want {
		t.Errorf("exit %d, %q, %q", code, lines, stderr)
	}
	code, stdout, stderr = runCommand(t, "templates", "run", "Fix it", "--set", "issue=a=b;c", "--agent", "codex")
	want := []string{
		`/api/templates/t1/fill {"values":{"issue":"a=b;c"}}`, `/api/tasks {"title":"Fix 42","agent":"codex"}`,
		`/api/tasks/task-1/queue {"message":"Fix 42"}`,
	}
	if code != 0 || stdout != "task-1\n" || strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("exit %d, %q %q\ngot  %q\nwant %q", code, stdout, stderr, got, want)
	}
	got = nil
	code, _, stderr = runCommand(t, "templates", "run", "Old")
	const gone = "the host h9 of the template is gone"
	if code != 1 || !strings.Contains(stderr, gone) || !strings.Contains(stderr, "--host") || len(got) != 1 {
		t.Errorf("exit %d, %q, %q", code, stderr, got)
	}
	if code, _, stderr = runCommand(t, "templates", "run", "Old", "--host", "h1"); code != 0 {
		t.Errorf("exit %d, %q", code, stderr)
	}
	var task map[string]string
	err := json.Unmarshal([]byte(strings.TrimPrefix(got[2], "/api/tasks ")), &task)
	if err != nil || task["hostId"] != "h1" {
		t.Errorf("%v %q", err, got)
	}
	code, _, stderr = runCommand(t, "templates", "run", "None")
	if code != 1 || !strings.Contains(stderr, `there is no template "None"`) {
		t.Errorf("exit %d, %q", code, stderr)
	}
}
