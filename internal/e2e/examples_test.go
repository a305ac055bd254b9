//go:build full

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/testenv"
	"bellhop/internal/testenv/faultproxy"
)

// The Python example streams a turn, answers its question and resumes when the stream is cut.
func TestThePythonExampleTakesATurnThatIsCut(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	cut := testenv.NewProxy(t, strings.TrimPrefix(s.broker.url, "http://"))
	config, err := json.Marshal(map[string]string{"brokerUrl": "http://" + cut.Addr(), "apiToken": s.token})
	if err != nil {
		t.Fatal(err)
	}
	s.toStream.Set(faultproxy.CutAnswerAfter(1500))
	script := filepath.Join("..", "..", "examples", "frontends", "python", "chat.py")
	cmd := exec.Command("python3", script, s.file("dev.json", string(config)), "slow 60 then write a.txt: hi")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var output journalOfOutput
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stream was cut once", func() bool { return strings.Contains(output.String(), "resuming") })
	s.toStream.Set(pass)
	eventually(t, "the example asks", func() bool { return strings.Contains(output.String(), "Allow it?") })
	if _, err := input.Write([]byte("y\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	printed := output.String()
	for _, want := range []string{"→ write_file", "57 58 59 60", "(stop)"} {
		if strings.Count(printed, want) != 1 {
			t.Errorf("printed %q %d times, want once:\n%s", want, strings.Count(printed, want), printed)
		}
	}
}
