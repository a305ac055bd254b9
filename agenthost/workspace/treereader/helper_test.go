package treereader

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"
)

// TestHelper starts the hidden command, as the host does.
func TestHelper(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "d/f", "content")
	r := Request{Root: root, HashSize: 20, Limits: wide}
	var request bytes.Buffer
	must(t, WriteRequest(&request, &r, nil))
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, Command)
	cmd.Stdin, cmd.Env = &request, []string{}
	out, err := cmd.Output()
	must(t, err)
	answer := ReadAnswer(bytes.NewReader(out), &r, nil)
	fact, err := answer.Next()
	must(t, err)
	file, ok := fact.(File)
	if !ok || file.Path != "d/f" {
		t.Fatalf("told %+v", fact)
	}
	if content, err := io.ReadAll(file.Content); err != nil || string(content) != "content" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := answer.Next(); err != io.EOF { //nolint:errorlint // the end itself
		t.Error(err)
	}
}

func TestHelperRefusesWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, Command)
	cmd.Stdin = bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	if out, err := cmd.Output(); err == nil || len(out) != 0 {
		t.Errorf("%q, %v", out, err)
	}
}
