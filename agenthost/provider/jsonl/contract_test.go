package jsonl_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/agent"
	"bellhop/agenthost"
	"bellhop/agenthost/provider/jsonl"
	"bellhop/agenthost/provider/providertest"
)

// playAgent is the variable that makes this test binary the demo agent.
const playAgent = "JSONL_TEST_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(playAgent) != "" {
		if err := agent.Stdio(context.Background(), mortal(os.Stdin), os.Stdout,
			agent.Options{PieceDelay: time.Millisecond}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// mortal forwards lines and exits at a line that contains "crash".
func mortal(in io.Reader) io.Reader {
	read, write := io.Pipe()
	go func() {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if bytes.Contains(lines.Bytes(), []byte(`"text":"crash"`)) {
				fmt.Println(`{"type":"chunk","content":"I am about to die. "}`)
				fmt.Fprintln(os.Stderr, "panic: oh no")
				os.Exit(3)
			}
			if bytes.Contains(lines.Bytes(), []byte(`"text":"die asking"`)) {
				fmt.Println(`{"type":"confirm","request_id":"q","prompt":"May I?","tool_name":"rm"}`)
				fmt.Println(`{"type":"ask","request_id":"r","prompt":"Why?"}`)
				os.Exit(3)
			}
			_, _ = write.Write(append(lines.Bytes(), '\n'))
		}
		_ = write.Close()
	}()
	return read
}

func TestTheDemoAgentKeepsTheContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return providertest.Subject{
			Provider:    jsonl.New(jsonl.Options{Name: "demo", Command: []string{os.Args[0]}, Env: []string{playAgent + "=1"}}),
			CannotStart: jsonl.New(jsonl.Options{Command: []string{filepath.Join(dir, "no-such-program")}}),
			Spec:        agenthost.AgentSpec{Dir: dir, Env: []string{providertest.Mark(t)}},
			Prompts: providertest.Prompts{
				Text:      "help",
				Tool:      "list",
				Confirm:   "write note.txt: remember",
				Ask:       "ask Which colour?",
				Endless:   "slow 6000",
				Crash:     "crash",
				Fail:      "fail",
				LastLines: "panic: oh no",

				CrashAsking: "die asking",
			},
			Running: providertest.Running(t),
		}
	})
}

// open creates an agent whose program is a shell script.
func open(t *testing.T, script string, spec agenthost.AgentSpec) agenthost.Agent {
	t.Helper()
	provider := jsonl.New(jsonl.Options{
		Name: "script", Command: []string{"sh", "-c", script}, ModelFlag: "--model", Grace: 50 * time.Millisecond,
	})
	spec.SessionID = "s1"
	spec.Dir, spec.StateDir = t.TempDir(), t.TempDir()
	spec.Env = append(spec.Env, providertest.Mark(t))
	a, err := provider.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := providertest.Running(t)(); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	})
	return a
}

// run plays one turn and checks the contract of agenthost.Agent.
func run(t *testing.T, a agenthost.Agent, out *providertest.Recorder) agenthost.Outcome {
	t.Helper()
	outcome, err := a.Run(t.Context(), agenthost.Prompt{TurnID: "t1", Text: "go"}, out)
	out.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if broken := out.Broken(true); len(broken) > 0 {
		t.Errorf("the contract is broken: %q", broken)
	}
	return outcome
}

// shown returns what the output received, without empty ends of blocks.
func shown(out *providertest.Recorder) []string {
	lines := []string{}
	for _, e := range out.Entries() {
		switch e.Kind {
		case providertest.KindEndText:
			if e.Text != "" {
				lines = append(lines, "end "+e.Text)
			}
		case providertest.KindCall:
			lines = append(lines, fmt.Sprintf("call %s %s %s", e.Call.ID, e.Call.Name, e.Call.Input))
		case providertest.KindResult:
			lines = append(lines,
				fmt.Sprintf("result %s %s %s error=%v denied=%v", e.Result.ID, e.Result.Name, e.Result.Output,
					e.Result.IsError, e.Result.Denied))
		case providertest.KindConfirm, providertest.KindAsk:
			q := e.Question
			line := fmt.Sprintf("%s %+q %s %s %s %s %s", e.Kind, q.Prompt, q.ToolCallID, q.ToolName, q.Args, q.Level, q.Default)
			if q.Warning != "" {
				line += " " + q.Warning
			}
			lines = append(lines, line)
		default:
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Kind, e.Level, e.Text)))
		}
	}
	return lines
}
