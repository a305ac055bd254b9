//go:build agents

package codex_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/codex"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// model has apply_patch in the catalogue that is built into Codex.
const model = "gpt-5.5"

// real is the installed Codex with a scripted model.
func real(t *testing.T) (codex.Options, agenthost.AgentSpec) {
	t.Helper()
	path := agents.Find(t, "codex")
	llm := mockllm.New(t)
	options := codex.Options{
		Find:    func(context.Context) (string, error) { return path, nil },
		Env:     []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + llm.URL + "/v1"},
		Records: t.TempDir(),
		Retries: 1,
		Grace:   10 * time.Second,
	}
	return options, agenthost.AgentSpec{
		SessionID: "0193a5c0-0000-7000-8000-000000000001", Dir: t.TempDir(), StateDir: t.TempDir(), Model: model,
	}
}

func TestContractWithTheRealProgram(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		options, spec := real(t)
		missing := options
		missing.Find = func(context.Context) (string, error) { return filepath.Join(t.TempDir(), "codex"), nil }
		return providertest.Subject{
			Provider:    codex.New(options),
			Spec:        spec,
			CannotStart: codex.New(missing),
			Prompts: providertest.Prompts{
				Text: "hello", Confirm: "WRITE hello.txt", Endless: "SLOW 3000", Fail: "FAIL400", Ask: "ASK",
			},
			Kill: func(t *testing.T) { kill(t, options.Records) },
			Forget: func(t *testing.T, spec agenthost.AgentSpec) {
				if err := os.RemoveAll(filepath.Join(spec.StateDir, ".codex", "sessions")); err != nil {
					t.Fatal(err)
				}
			},
			Running: func() []string { return recorded(t, options.Records) },
		}
	})
}

// recorded names the programs that are recorded as running.
func recorded(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestTheRealProgramWritesTheFileAfterTheAnswerOnly(t *testing.T) {
	options, spec := real(t)
	agent := opened(t, options, spec)
	path := filepath.Join(spec.Dir, "hello.txt")
	out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
		if _, err := os.Stat(path); err == nil {
			t.Error("the file is there before the answer")
		}
		return agenthost.Answer{Approved: true}, nil
	}}
	run(t, agent, out, "WRITE hello.txt")
	if written, err := os.ReadFile(path); err != nil || !strings.Contains(string(written), "hello") {
		t.Errorf("got %q, %v", written, err)
	}
}

func TestTheRealProgramsCommandEndsWithAnInterrupt(t *testing.T) {
	options, spec := real(t)
	options.Sandbox = codex.SandboxNone // its processes have our numbers
	agent := opened(t, options, spec)
	out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
		return agenthost.Answer{Approved: true}, nil
	}}
	done := make(chan agenthost.Outcome)
	go func() {
		outcome, _ := agent.Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: "BASH echo $$ > pid; exec sleep 600"}, out)
		done <- outcome
	}()
	pid := running(t, filepath.Join(spec.Dir, "pid"))
	if err := agent.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
	if outcome := <-done; outcome.Reason != protocol.ReasonAborted {
		t.Errorf("got %+v", outcome)
	}
	gone(t, pid)
}

func TestTheRealProgramDoesNotTryAnUnreachableModelForEver(t *testing.T) {
	options, spec := real(t)
	options.Env = append(options.Env, "OPENAI_BASE_URL=http://127.0.0.1:9/v1")
	out := &providertest.Recorder{}
	outcome, err := opened(t, options, spec).Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: "hello"}, out)
	if err != nil || outcome.FinishReason != protocol.FinishError || outcome.Err == "" {
		t.Errorf("got %+v, %v; it said %+v", outcome, err, out.Entries())
	}
}

func TestTheRealProgramResumesAfterSIGKILL(t *testing.T) {
	options, spec := real(t)
	agent := opened(t, options, spec)
	first := &providertest.Recorder{}
	run(t, agent, first, "hello the first time")
	native := first.Of(providertest.KindNative)
	if len(native) != 1 {
		t.Fatalf("got the native ids %+v", native)
	}
	kill(t, options.Records)
	spec.Native = native[0].Text
	again := opened(t, options, spec)
	second := &providertest.Recorder{Memory: "lost"}
	run(t, again, second, "hello the second time")
	if restored := second.Of(providertest.KindRestored); len(restored) > 0 {
		t.Error("the thread was not resumed")
	}
	spec.Native = "01a1f7f6-004b-7792-9e6e-5ef9438d707d"
	lost := &providertest.Recorder{Memory: "what was said"}
	run(t, opened(t, options, spec), lost, "hello the third time")
	if kinds := len(lost.Of(providertest.KindRestored)) + len(lost.Of(providertest.KindNative)); kinds != 2 {
		t.Errorf("an unknown thread was not replaced: %+v", lost.Entries())
	}
}

// kill kills the one recorded program and its group.
func kill(t *testing.T, records string) {
	t.Helper()
	names := recorded(t, records)
	if len(names) != 1 {
		t.Fatalf("running: %q", names)
	}
	content, err := os.ReadFile(filepath.Join(records, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ Pid int }
	if err := json.Unmarshal(content, &record); err != nil || record.Pid <= 1 {
		t.Fatalf("%s: %v", content, err)
	}
	if err := syscall.Kill(-record.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, options codex.Options, spec agenthost.AgentSpec) agenthost.Agent {
	t.Helper()
	agent, err := codex.New(options).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close(context.Background()) })
	return agent
}

// run plays a whole turn that must end well.
func run(t *testing.T, agent agenthost.Agent, out *providertest.Recorder, prompt string) {
	t.Helper()
	outcome, err := agent.Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: prompt}, out)
	out.Finish()
	if err != nil || outcome.FinishReason != protocol.FinishStop {
		t.Fatalf("got %+v, %v; it said %+v", outcome, err, out.Entries())
	}
	if broken := out.Broken(true); len(broken) > 0 {
		t.Errorf("the contract is broken: %q", slices.Clone(broken))
	}
}

// running waits until the command has written its pid, and returns it.
func running(t *testing.T, path string) int {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		content, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil && pid > 1 {
			return pid
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal("the command does not run")
		}
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-again.C:
		case <-ctx.Done():
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the command still runs")
		}
	}
}
