//go:build full

package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/client"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/basic"
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

// The example of plain fetch works with a server that names no capabilities, and reports the end of its turn.
func TestThePlainExampleTakesATurnOfABasicServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&basic.Host{Password: hostPassword, Client: direct})
	t.Cleanup(server.Close)
	b := loneBroker(t)
	_, err := b.Hosts.Create(t.Context(), broker.Caller{Admin: true}, &broker.HostRequest{
		Name: "basic", URL: server.URL, Password: hostPassword,
	})
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]string{"brokerUrl": b.URL, "apiToken": b.token})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dev.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join("..", "..", "web", "client", "examples", "plain", "chat.mjs")
	out, err := exec.CommandContext(t.Context(), "node", script, file, "hi").CombinedOutput()
	const want = "Let me look.\n→ list_dir {\"path\":\".\"}\nYou said: hi\n(stop)\n4 messages are stored\n"
	if err != nil || string(out) != want {
		t.Fatalf("%v, printed %q, want %q", err, out, want)
	}
	page, err := b.client().Tasks(t.Context(), client.TaskQuery{})
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].LastTurn == nil || page.Tasks[0].LastTurn.FinishReason != "stop" {
		t.Errorf("the task is %+v, %v", page, err)
	}
}
