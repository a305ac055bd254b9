package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"bellhop/protocol"
)

func TestDiffOfASession(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.open("s1")
	get := func() (int, string) {
		status, _, body := h.call(request{"GET", "/session/s1/diff", "", []string{bearerPassword}})
		return status, body
	}
	status, body := get()
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, body)
	}
	expectEqual(t, "nothing changed", normalizedDiff(body), `{"base":"<commit>","files":[],"patch":"","snapshot":"<snapshot>","head":"<head>"}`)
	if err := os.WriteFile(filepath.Join(h.data, "workspaces", "s1", "a b.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, body = get()
	expectEqual(t, "a new file", normalizedDiff(body),
		`{"base":"<commit>","files":[{"path":"a b.txt","status":"added","additions":1,"deletions":0}],`+
			`"patch":"diff --git a/a b.txt b/a b.txt\nnew file mode 100644\nindex 0000000..ce01362\n--- /dev/null\n+++ b/a b.txt\t\n@@ -0,0 +1 @@\n+hello\n","snapshot":"<snapshot>","head":"<head>"}`)
	if err := os.RemoveAll(filepath.Join(h.data, "workspaces", "s1")); err != nil {
		t.Fatal(err)
	}
	status, body = get()
	if status != http.StatusConflict {
		t.Errorf("got %d", status)
	}
	expectEqual(t, "no workspace", body,
		errorBody("The session's workspace is gone", protocol.CodeConflict, "The session's next turn makes it again"))
}

var shownID = regexp.MustCompile(`"(snapshot|head)":"[0-9a-f]{40}"`)

// normalizedDiff replaces the ids of commits, which have times, and of snapshots.
func normalizedDiff(body string) string {
	return normalizedCommit(shownID.ReplaceAllString(body, `"$1":"<$1>"`))
}
