package treesnapshot

import (
	"os"
	"strings"
	"testing"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/process"
)

func TestAReaderAsAProcess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must(t, os.WriteFile(root+"/a", []byte("a\n"), 0o600))
	h := openHost(t, root, "sha1", "", "")
	self, err := os.Executable()
	must(t, err)
	read := Process(process.Command{Args: []string{self, treereader.Command}, Dir: "/"}, &h.request)
	first, err := h.Take(t.Context(), t.TempDir(), read)
	must(t, err)
	if again := h.take(); again.ID != first.ID {
		t.Errorf("%s as a process, %s in this one", first.ID, again.ID)
	}
}

func TestAReaderThatFailsIsQuoted(t *testing.T) {
	t.Parallel()
	h := openHost(t, t.TempDir(), "sha1", "", "")
	for script, want := range map[string]string{
		"echo no namespaces >&2; exit 126": "no namespaces",
		"printf f":                         "unexpected EOF",
		"cat /dev/zero":                    "a frame of kind 0",
	} {
		read := Process(process.Command{Args: []string{"/bin/sh", "-c", script}, Dir: "/"}, &h.request)
		if _, err := h.Take(t.Context(), t.TempDir(), read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}
