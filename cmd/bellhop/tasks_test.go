package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATaskIsWrittenToAFileOrToTheOutput(t *testing.T) {
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer geheim":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"Unauthorized","code":"unauthorized"}`))
		case r.URL.Path == "/api/tasks/cut/export":
			_, _ = w.Write([]byte("# Half"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			_, _ = w.Write([]byte(r.URL.String() + "\n"))
		}
	}))
	defer broker.Close()
	t.Setenv("BELLHOP_URL", broker.URL)
	t.Setenv("BELLHOP_TOKEN", "geheim")
	code, stdout, stderr := runCommand(t, "tasks", "export", "a b")
	if want := "/api/tasks/a%20b/export?masked=false\n"; code != 0 || stdout != want {
		t.Errorf("exit %d, %q %q", code, stdout, stderr)
	}
	file := filepath.Join(t.TempDir(), "task.md")
	code, stdout, stderr = runCommand(t, "tasks", "export", "x", "--masked", "-o", file)
	written, err := os.ReadFile(file)
	if code != 0 || stdout != "" || err != nil || string(written) != "/api/tasks/x/export?masked=true\n" {
		t.Errorf("exit %d, %q %q, file %q %v", code, stdout, stderr, written, err)
	}
	code, _, stderr = runCommand(t, "tasks", "export", "y", "-o", file)
	again, err := os.ReadFile(file)
	if code != 1 || !strings.Contains(stderr, "exists") || err != nil || string(again) != string(written) {
		t.Errorf("over another file: exit %d, %q, file %q", code, stderr, again)
	}
	cut := filepath.Join(t.TempDir(), "cut.md")
	code, _, stderr = runCommand(t, "tasks", "export", "cut", "-o", cut)
	if _, err := os.Stat(cut); code != 1 || !os.IsNotExist(err) {
		t.Errorf("a document that is cut: exit %d, %q, %v", code, stderr, err)
	}
	t.Setenv("BELLHOP_TOKEN", "wrong")
	if code, _, stderr = runCommand(t, "tasks", "export", "x"); code != 1 || !strings.Contains(stderr, "Unauthorized") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}
