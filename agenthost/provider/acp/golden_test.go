package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
	"bellhop/agenthost/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// guard is a grace that no test waits for.
const guard = time.Hour

// scripted is a provider whose program plays the scripts of a folder.
func scripted(t *testing.T, dir string) (acp.Options, agenthost.AgentSpec) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	return acp.Options{
		Command: func(context.Context) ([]string, error) { return []string{self}, nil },
		Env:     []string{playScript + "=" + dir, "GORACE=atexit_sleep_ms=0"},
		Grace:   guard,
	}, agenthost.AgentSpec{SessionID: "0193a5c0-0000-7000-8000-000000000001", Dir: t.TempDir(), StateDir: t.TempDir()}
}

// open opens an agent and closes it at the end of the test.
func open(t *testing.T, options acp.Options, spec agenthost.AgentSpec) agenthost.Agent {
	t.Helper()
	agent, err := acp.New(options).Open(t.Context(), spec)
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
		{"gemini-text", "a block without an id is ended with the turn", "Say hello", deny, ""},
		{"gemini-think", "reasoning ends where the text begins", "THINK please", deny, ""},
		{"gemini-write", "a permission request may be the first word of its call", "WRITE acp-hello.txt", allow, ""},
		{"gemini-reject", "a rejected call that gets no update has a denied result", "WRITE acp-rejected.txt", deny, ""},
		{"gemini-bash", "what a permission request shows is not the result", "BASH touch acp-bash.txt; echo made", allow, ""},
		{"gemini-read-missing", "a call without permission that fails is an error", "READ nope-missing.md", deny, ""},
		{"gemini-cancel", "a cancelled turn is aborted", "SLOW 100", deny, providertest.KindText},
		{"gemini-cancel-permission", "a cancel answers the open permission request, or the agent hangs", "WRITE acp-never.txt", deny, providertest.KindConfirm},
		{"gemini-unauthorized", "an error of the prompt is a failure in words", "FAIL401", deny, ""},
		{"claude-write", "a call that is told piece by piece is announced whole", "WRITE acp-hello.txt", allow, ""},
		{"claude-reject", "a rejected call that fails is denied and the agent goes on", "WRITE acp-rejected.txt", deny, ""},
		{"claude-bash-fails", "a command that fails is an error with its output", "BASH echo oops >&2; exit 3", allow, ""},
		{"claude-task", "the agent tool is a call like any other", "TASK go", allow, ""},
		{"claude-cancel-permission", "a permission request that the agent gives up is withdrawn", "WRITE acp-never.txt", deny, providertest.KindConfirm},
		{"codex-write", "an approved call is carried out", "WRITE acp-hello.txt", allow, ""},
		{"codex-reject", "an agent that ends its turn for a rejection has finished", "WRITE acp-rejected.txt", deny, ""},
		{"opencode-write", "a call is announced before its permission is asked", "WRITE acp-hello.txt", allow, ""},
	} {
		t.Run(c.name+": "+c.rule, func(t *testing.T) {
			dir := filepath.Join("testdata", c.name)
			options, spec := scripted(t, dir)
			if strings.HasPrefix(c.name, "codex-") {
				options.Mode = "read-only" // its own does not ask before it edits
			}
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
