//go:build agents

package opencode_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/opencode"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// mark in the environment tells the processes of one test.
const mark = "OPENCODE_TEST_MARK"

// running names the processes whose environment carries a test's mark.
func running(t *testing.T) func() []string {
	return func() []string {
		var found []string
		environments, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environments {
			if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, []byte(mark+"="+t.Name()+"\x00")) {
				found = append(found, filepath.Dir(path))
			}
		}
		return found
	}
}

// kill ends a test's program as the kernel would.
func kill(t *testing.T) {
	t.Helper()
	for _, process := range running(t)() {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Log(err) // a child of one that is dead already
		}
	}
}

// realProvider is the program before the model of a test.
func realProvider(t *testing.T, llm *mockllm.Server, config string) *opencode.Provider {
	t.Helper()
	path := agents.Find(t, "opencode")
	return opencode.New(opencode.Options{
		Find:   func(context.Context) (string, error) { return path, nil },
		Env:    []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + llm.URL + "/v1", mark + "=" + t.Name()},
		Config: config,
	})
}

const realModel = "openai-compatible/mock-1"

func TestRealOpenCodeKeepsTheContract(t *testing.T) {
	llm := mockllm.New(t)
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		loose := filepath.Join(t.TempDir(), "opencode.json")
		if err := os.WriteFile(loose, []byte(`{"permission":{"bash":"allow","edit":"ask"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return providertest.Subject{
			Provider: realProvider(t, llm, loose),
			CannotStart: opencode.New(opencode.Options{
				Find: func(context.Context) (string, error) {
					return "", protocol.Errorf(protocol.CodeNotFound, "not installed")
				},
			}),
			Spec: agenthost.AgentSpec{Dir: dir, Model: realModel},
			Prompts: providertest.Prompts{
				Text:      "Say hello",
				Tool:      "READ hello.txt",
				Confirm:   "WRITE note.txt",
				Ask:       "ASK",
				Endless:   "SLOW 6000",
				Crash:     `BASH echo "panic: oh no" >/proc/$PPID/fd/2; kill -9 $PPID`,
				Fail:      "FAIL400",
				LastWords: "panic: oh no",
			},
			Kill: kill,
			Forget: func(t *testing.T, spec agenthost.AgentSpec) {
				if err := os.RemoveAll(filepath.Join(spec.StateDir, ".local", "share", "opencode")); err != nil {
					t.Fatal(err)
				}
			},
			Told: func() string {
				var all bytes.Buffer
				for _, request := range llm.Requests() {
					all.Write(request.Body)
				}
				return all.String()
			},
			Running: running(t),
		}
	})
}
