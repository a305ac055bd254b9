//go:build agents

package acp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
	"bellhop/agenthost/provider/providertest"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// kind is one real agent with a scripted model.
type kind struct {
	name string
	make func(acp.Options) *acp.Provider
	env  func(url string) []string
	mcp  string // how the model calls the host's tool
	kept string // where it keeps what was said, below its home
}

var kinds = []kind{
	{"gemini", acp.Gemini, func(url string) []string {
		return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url}
	}, "CALL mcp_bellhop_workspace_getStatus {}", ".gemini/tmp/*/chats/session-*"},
	{"claude-agent-acp", acp.New, func(url string) []string {
		return []string{
			"ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_MAX_RETRIES=0", "IS_SANDBOX=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		}
	}, "CALL mcp__bellhop__workspace_getStatus {}", ".claude/projects/*/*.jsonl"},
}

func (k kind) options(t *testing.T) (acp.Options, agenthost.AgentSpec) {
	t.Helper()
	command := agents.FindCommand(t, k.name)
	llm := mockllm.New(t)
	return acp.Options{
		Name:    k.name,
		Command: func(context.Context) ([]string, error) { return command, nil },
		Env:     k.env(llm.URL),
		Records: t.TempDir(),
		Grace:   20 * time.Second,
	}, agenthost.AgentSpec{SessionID: "0193a5c0-0000-7000-8000-000000000001", Dir: t.TempDir(), StateDir: t.TempDir()}
}

func TestContractWithTheRealPrograms(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			providertest.Run(t, func(t *testing.T) providertest.Subject {
				options, spec := k.options(t)
				if err := os.WriteFile(filepath.Join(spec.Dir, "README.md"), []byte("hello\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				missing := options
				missing.Command = func(context.Context) ([]string, error) {
					return []string{filepath.Join(spec.Dir, "missing")}, nil
				}
				return providertest.Subject{
					Provider:    k.make(options),
					Spec:        spec,
					CannotStart: k.make(missing),
					Prompts: providertest.Prompts{
						Text: "hello", Tool: "READ README.md", Confirm: "WRITE hello.txt", Endless: "SLOW 3000", Fail: "FAIL400",
					},
					Forget: func(t *testing.T, spec agenthost.AgentSpec) {
						folder, _, _ := strings.Cut(k.kept, "/*")
						if err := os.RemoveAll(filepath.Join(spec.StateDir, folder)); err != nil {
							t.Fatal(err)
						}
					},
					Kept: func(t *testing.T, spec agenthost.AgentSpec) {
						written(t, filepath.Join(spec.StateDir, k.kept), "hello")
					},
					Rested:  func(t *testing.T, spec agenthost.AgentSpec) { age(t, spec.StateDir) },
					Kill:    func(t *testing.T) { kill(t, options.Records) },
					Running: func() []string { return recorded(t, options.Records) },
				}
			})
		})
	}
}

func TestTheRealProgramsFailuresAreOutcomes(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			options, spec := k.options(t)
			outcome, err := k.open(t, options, spec).Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: "FAIL400"}, &providertest.Recorder{})
			if err != nil || outcome.FinishReason != protocol.FinishError || !strings.Contains(outcome.Err, "mock error 400") {
				t.Errorf("got %+v, %v", outcome, err)
			}
		})
	}
}

func TestTheRealProgramsWriteTheFileAfterTheAnswerOnly(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			options, spec := k.options(t)
			path := filepath.Join(spec.Dir, "hello.txt")
			out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
				if _, err := os.Stat(path); err == nil {
					t.Error("the file is there before the answer")
				}
				return agenthost.Answer{Approved: true}, nil
			}}
			finish(t, k.open(t, options, spec), out, "WRITE hello.txt")
			if written, err := os.ReadFile(path); err != nil || !strings.Contains(string(written), "hello") {
				t.Errorf("got %q, %v", written, err)
			}
		})
	}
}

func TestTheRealProgramsResumeAfterSIGKILL(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			options, spec := k.options(t)
			first := &providertest.Recorder{}
			finish(t, k.open(t, options, spec), first, "hello the first time")
			native := first.Of(providertest.KindNative)
			if len(native) != 1 {
				t.Fatalf("got the native ids %+v", native)
			}
			written(t, filepath.Join(spec.StateDir, k.kept), "from the mock LLM")
			kill(t, options.Records)
			age(t, spec.StateDir)
			spec.Native = native[0].Text
			second := &providertest.Recorder{Memory: "lost"}
			finish(t, k.open(t, options, spec), second, "hello the second time")
			if len(second.Of(providertest.KindRestored)) > 0 || len(second.Texts()) != 1 {
				t.Errorf("the session was not resumed, or replayed: %+v", second.Entries())
			}
			spec.Native = "0193a5c0-0000-7000-8000-00000000dead"
			lost := &providertest.Recorder{Memory: "what was said"}
			finish(t, k.open(t, options, spec), lost, "hello the third time")
			if n := len(lost.Of(providertest.KindRestored)) + len(lost.Of(providertest.KindNative)); n != 2 {
				t.Errorf("an unknown session was not replaced: %+v", lost.Entries())
			}
		})
	}
}

func TestTheRealProgramsCommandEndsWithAnInterrupt(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			options, spec := k.options(t)
			agent := k.open(t, options, spec)
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
		})
	}
}

// written waits until one of the files has the words: agents write what was
// said a little later.
func written(t *testing.T, pattern, words string) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), words) {
				return
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%q is not in %q", words, files)
		}
	}
}

// age makes the chats of Gemini CLI older than this minute, which is in their
// names: within the same one, a load starts the chat anew under its own name
// and finds nothing to load. (A session is then restored from the journal.)
func age(t *testing.T, home string) {
	t.Helper()
	chats, err := filepath.Glob(filepath.Join(home, ".gemini", "tmp", "*", "chats", "session-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range chats {
		id := path[strings.LastIndex(path, "-"):]
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), "session-2026-01-01T00-00"+id)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheRealProgramsCallTheHostsTool(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			options, spec := k.options(t)
			server := mcp.NewServer(&mcp.Implementation{Name: "bellhop", Version: "1"}, nil)
			type status struct {
				Dirty bool `json:"dirty"`
			}
			mcp.AddTool(server, &mcp.Tool{Name: "workspace_getStatus", Description: "status"},
				func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, status, error) {
					return nil, status{Dirty: true}, nil
				})
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer s3cret" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(func() {
				web.CloseClientConnections()
				web.Close()
			})
			spec.Local = &agenthost.Local{MCPURL: web.URL, Secret: "s3cret"}
			out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
				return agenthost.Answer{Approved: true}, nil
			}}
			finish(t, k.open(t, options, spec), out, k.mcp)
			results := out.Of(providertest.KindResult)
			if len(results) != 1 || !strings.Contains(string(results[0].Result.Output), "dirty") {
				for _, e := range out.Entries() {
					t.Logf("%s %q call=%s %s result=%s q=%+v args=%s", e.Kind, e.Text, e.Call.Name, e.Call.Input, e.Result.Output, e.Question, e.Question.Args)
				}
				t.Errorf("got %+v", results)
			}
		})
	}
}

func (k kind) open(t *testing.T, options acp.Options, spec agenthost.AgentSpec) agenthost.Agent {
	t.Helper()
	agent, err := k.make(options).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close(context.Background()) })
	return agent
}

// finish plays a whole turn that must end well.
func finish(t *testing.T, agent agenthost.Agent, out *providertest.Recorder, prompt string) {
	t.Helper()
	outcome, err := agent.Run(t.Context(), agenthost.Prompt{TurnID: "turn-1", Text: prompt}, out)
	out.Finish()
	if err != nil || outcome.FinishReason != protocol.FinishStop {
		t.Fatalf("got %+v, %v; it said %+v", outcome, err, out.Entries())
	}
	if broken := out.Broken(true); len(broken) > 0 {
		t.Errorf("the contract is broken: %q", broken)
	}
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
