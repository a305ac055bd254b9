package codex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/codex"
	"bellhop/agenthost/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// guard is a grace that no test waits for.
const guard = time.Hour

// scripted is a provider whose program plays the scripts of a folder.
func scripted(t *testing.T, dir string) (codex.Options, agenthost.AgentSpec) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	return codex.Options{
		Find:  func(context.Context) (string, error) { return self, nil },
		Env:   []string{playScript + "=" + dir, "GORACE=atexit_sleep_ms=0"},
		Grace: guard,
	}, agenthost.AgentSpec{SessionID: "0193a5c0-0000-7000-8000-000000000001", Dir: t.TempDir(), StateDir: t.TempDir()}
}

// open opens an agent and closes it at the end of the test.
func open(t *testing.T, options codex.Options, spec agenthost.AgentSpec) agenthost.Agent {
	t.Helper()
	agent, err := codex.New(options).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if unexpected, err := os.ReadFile(filepath.Join(spec.StateDir, "unexpected")); err == nil {
			t.Errorf("the program got what it did not expect:\n%s", unexpected)
		}
	})
	return agent
}

// said is a golden file: what a turn said and how it ended.
type said struct {
	Entries []heard           `json:"entries"`
	Outcome agenthost.Outcome `json:"outcome"`
}

// heard is a providertest.Entry without what its kind does not use.
type heard struct {
	Kind     string                `json:"kind"`
	Text     string                `json:"text,omitempty"`
	Level    string                `json:"level,omitempty"`
	Call     *agenthost.ToolCall   `json:"call,omitempty"`
	Result   *agenthost.ToolResult `json:"result,omitempty"`
	Question *agenthost.Question   `json:"question,omitempty"`
}

func entries(out *providertest.Recorder) []heard {
	var list []heard
	for _, e := range out.Entries() {
		h := heard{Kind: e.Kind, Text: e.Text, Level: e.Level}
		switch e.Kind {
		case providertest.KindCall:
			h.Call = &e.Call
		case providertest.KindResult:
			h.Result = &e.Result
		case providertest.KindConfirm, providertest.KindAsk:
			h.Question = &e.Question
		}
		list = append(list, h)
	}
	return list
}

// recordings of the real program, cut to one turn each.
func TestRecordings(t *testing.T) {
	deny := agenthost.Answer{Reason: "no"}
	allow := agenthost.Answer{Approved: true}
	for _, c := range []struct {
		name, rule, prompt string
		answer             agenthost.Answer
		interruptAt        string // kind of the entry
	}{
		{"text", "a text is its deltas, ended once", "Say hello", deny, ""},
		{"think", "reasoning comes before the text", "THINK please", deny, ""},
		{"command", "an approved command runs, with its aggregated output", "BASH touch cx-bash.txt; echo made", allow, ""},
		{"command-fails", "a command that fails is an error with its exit code", "BASH echo oops >&2; exit 3", allow, ""},
		{"command-long", "output deltas are lossy, the aggregated output is whole", "BASH for i in 1 2 3 4; do echo line$i; sleep 0.3; done", allow, ""},
		{"command-declined", "a declined command is denied and the agent goes on", "BASH touch declined.txt", deny, ""},
		{"patch", "a change of files shows its diff before the answer", "WRITE p-gpt-5.5-untrusted.txt", allow, ""},
		{"patch-declined", "a declined change is denied and the agent goes on", "WRITE pd-gpt-5.5.txt", deny, ""},
		{"interrupt", "an interrupted text is never completed, its block is ended", "SLOW 100", deny, providertest.KindText},
		{"interrupt-approval", "an interrupt cancels the open approval, resolved after the turn", "BASH touch hold.txt", deny, providertest.KindConfirm},
		{"unauthorized", "a refused key is a failure in words, the retry a notice", "FAIL401", deny, ""},
		{"bad-request", "a refused request is a failure", "FAIL400", deny, ""},
		{"rate-limited", "a rate limit is a failure after its retries", "FAIL429", deny, ""},
		{"cut-off", "a connection that breaks off is a failure, what was said stays", "DROP", deny, ""},
	} {
		t.Run(c.name+": "+c.rule, func(t *testing.T) {
			dir := filepath.Join("testdata", c.name)
			options, spec := scripted(t, dir)
			agent := open(t, options, spec)
			out := &providertest.Recorder{}
			if c.interruptAt != providertest.KindConfirm {
				out.Decide = func(context.Context, string, agenthost.Question) (agenthost.Answer, error) { return c.answer, nil }
			}
			done := make(chan said)
			go func() {
				outcome, err := agent.Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: c.prompt}, out)
				out.Finish()
				if err != nil {
					t.Error(err)
				}
				done <- said{Outcome: outcome}
			}()
			if c.interruptAt != "" {
				if err := out.WaitFor(t.Context(), c.interruptAt, 1); err != nil {
					t.Error(err)
				}
				if err := agent.Interrupt(t.Context()); err != nil {
					t.Error(err)
				}
			}
			got := <-done
			got.Entries = entries(out)
			golden(t, filepath.Join(dir, "entries.json"), got)
			if broken := out.Broken(c.interruptAt == ""); len(broken) > 0 {
				t.Errorf("the contract is broken: %q", broken)
			}
		})
	}
}

func golden(t *testing.T, path string, got said) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text.Bytes(), want) {
		t.Errorf("got %s\nwant %s", text.Bytes(), want)
	}
}
