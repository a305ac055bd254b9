package claude_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

var local = &agenthost.Local{MCPURL: "http://127.0.0.1:9/mcp", HookURL: "http://127.0.0.1:9/hook", Secret: `s"ecret`}

// Reliability PROC-2.
func TestTheProgramGetsOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("BELLHOP_HOST_PASSWORD", "canary")
	t.Setenv("ANTHROPIC_API_KEY", "canary of the host")
	s := open(t, opening{
		spec:    agenthost.AgentSpec{Model: "m1", Env: []string{"ANTHROPIC_API_KEY=secret"}},
		options: claude.Options{Env: []string{"CLAUDE_CODE_MAX_RETRIES=7"}},
	}, turn())
	s.run(t, &providertest.Recorder{})
	got := lives(t, s.spec.StateDir)[0]
	for _, want := range []string{
		"ANTHROPIC_API_KEY=secret", "HOME=" + s.spec.StateDir, "CLAUDE_CODE_MAX_RETRIES=7",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
	} {
		if !slices.Contains(got.Env, want) {
			t.Errorf("no %q in %q", want, got.Env)
		}
	}
	if all := strings.Join(got.Env, "\n"); strings.Contains(all, "canary") || !strings.Contains(all, "PATH=") {
		t.Errorf("got %q", got.Env)
	}
	args := strings.Join(got.Args, " ")
	const want = "-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages " +
		"--replay-user-messages --permission-prompt-tool stdio --permission-mode default --disallowed-tools " +
		"ScheduleWakeup,CronCreate --session-id "
	if !strings.HasPrefix(args, want) || !strings.HasSuffix(args, " --model m1") || strings.Contains(args, "secret") ||
		got.Dir != s.spec.Dir {
		t.Errorf("got %s in %s", args, got.Dir)
	}
}

func TestAConfiguredHomeReplacesTheSessionsHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := open(t, opening{options: claude.Options{Env: []string{"HOME=" + home}}}, turn())
	s.run(t, &providertest.Recorder{})
	if len(lives(t, home)) != 1 || started(s.spec.StateDir) {
		t.Error("it ran elsewhere")
	}
}

func TestTheHostsToolsAreConfigured(t *testing.T) {
	t.Parallel()
	s := open(t, opening{spec: agenthost.AgentSpec{Local: local}}, turn())
	s.run(t, &providertest.Recorder{})
	args := lives(t, s.spec.StateDir)[0].Args
	want := map[string]any{"mcpServers": map[string]any{"bellhop": map[string]any{
		"type": "http", "url": local.MCPURL, "alwaysLoad": true,
		"headers": map[string]any{"Authorization": "Bearer " + local.Secret, "X-Workspace-Path": s.spec.Dir},
	}}}
	same(t, args[slices.Index(args, "--mcp-config")+1], want)
	if left, err := os.ReadDir(s.spec.Dir); err != nil || len(left) > 0 {
		t.Errorf("written into the workspace: %v, %v", left, err)
	}
}

// same compares a JSON file, and checks that only its owner may read it.
func same(t *testing.T, path string, want map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(got); string(again) != string(wanted) {
		t.Errorf("got %s, want %s", again, wanted)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func terminal(t *testing.T, s *subject) *agenthost.Terminal {
	t.Helper()
	client, err := s.Agent.(agenthost.TerminalAgent).Terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestTheTerminalClientOpensTheSession(t *testing.T) {
	t.Parallel()
	s := open(t, opening{
		spec:    agenthost.AgentSpec{Local: local, Model: "m1", Env: []string{"ANTHROPIC_API_KEY=0123456789-0123456789-end"}},
		options: claude.Options{Env: []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:9"}},
	}, turn(), turn())
	out := &providertest.Recorder{}
	s.run(t, out)
	sessionID := out.Of(providertest.KindAgentSession)[0].Text
	wrote(t, s, sessionID)
	client := terminal(t, s)
	if left := providertest.Running(t)(); len(left) > 0 {
		t.Errorf("two programs on one session: %q", left)
	}
	settings, mcp := filepath.Join(s.spec.StateDir, "bellhop-settings.json"),
		filepath.Join(s.spec.StateDir, "bellhop-mcp.json")
	if want := []string{
		os.Args[0], "--resume", sessionID, "--permission-mode", "default", "--settings", settings, "--setting-sources",
		"user", "--add-dir=" + s.spec.Dir, "--model", "m1", "--mcp-config", mcp,
	}; !slices.Equal(client.Command, want) {
		t.Errorf("got %q", client.Command)
	}
	for _, want := range []string{
		"HOME=" + s.spec.StateDir, "ANTHROPIC_BASE_URL=http://127.0.0.1:9",
		"ANTHROPIC_API_KEY=0123456789-0123456789-end", "DISABLE_AUTOUPDATER=1",
	} {
		if !slices.Contains(client.Env, want) {
			t.Errorf("no %q in %q", want, client.Env)
		}
	}
	if client.Dir != s.spec.Dir ||
		slices.ContainsFunc(client.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		t.Errorf("got %+v", client)
	}
	hooks := map[string]any{}
	for _, event := range []string{
		"UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "Notification",
		"StopFailure", "Stop", "SessionEnd",
	} {
		hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{
			"type": "http", "url": local.HookURL, "timeout": 5,
			"headers": map[string]any{"Authorization": "Bearer " + local.Secret, "X-Workspace-Path": s.spec.Dir},
		}}}}
	}
	hooks["SessionStart"] = []any{
		map[string]any{"hooks": []any{map[string]any{"type": "command", "command": sessionStart(t, settings), "timeout": 5}}},
	}
	same(t, settings, map[string]any{"hooks": hooks})
	same(t, filepath.Join(s.spec.StateDir, ".claude.json"), map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark",
		"projects": map[string]any{
			s.spec.Dir: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true},
		},
		"customApiKeyResponses": map[string]any{"approved": []any{"56789-0123456789-end"}},
	})
	s.run(t, &providertest.Recorder{})
	if got := lives(t, s.spec.StateDir); len(got) != 2 ||
		got[1].Args[slices.Index(got[1].Args, "--resume")+1] != sessionID {
		t.Errorf("the next turn is not of the session: %+v", got)
	}
}

// wrote creates the file in which the program keeps a session.
func wrote(t *testing.T, s *subject, sessionID string) {
	t.Helper()
	folder := filepath.Join(s.spec.StateDir, ".claude", "projects", "slug")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, sessionID+".jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestASessionCanBeginInTheTerminal(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, turn())
	first := terminal(t, s)
	if again := terminal(t, s); !slices.Equal(first.Command, again.Command) || first.Command[1] != "--session-id" {
		t.Errorf("got %q, then %q", first.Command, again.Command)
	}
	sessionID := first.Command[2]
	wrote(t, s, sessionID)
	if again := terminal(t, s); again.Command[1] != "--resume" || again.Command[2] != sessionID {
		t.Errorf("got %q", again.Command)
	}
	out := &providertest.Recorder{}
	s.run(t, out)
	if announced := out.Of(providertest.KindAgentSession); len(announced) != 1 || announced[0].Text != sessionID ||
		len(out.Of(providertest.KindRestored)) > 0 {
		t.Errorf("got %q", shown(out))
	}
}

func TestTheTerminalClientIsRefusedDuringATurn(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, script("<", begins, delta("so"), "<", cut))
	done := make(chan error)
	out := &providertest.Recorder{}
	go func() {
		_, err := s.Run(t.Context(), agenthost.Prompt{Text: "go"}, out)
		done <- err
	}()
	if err := out.WaitFor(t.Context(), providertest.KindText, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Agent.(agenthost.TerminalAgent).Terminal(t.Context()); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("got %v", err)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAnswersInTheTerminalClientAreKept(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, "")
	path := filepath.Join(s.spec.StateDir, ".claude.json")
	if err := os.WriteFile(path, []byte(`{"theme":"light","userID":"u","projects":{"/other":{"a":1}}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	terminal(t, s)
	same(t, path, map[string]any{
		"hasCompletedOnboarding": true, "theme": "light", "userID": "u",
		"projects": map[string]any{
			"/other":   map[string]any{"a": 1},
			s.spec.Dir: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true},
		},
	})
	if err := os.WriteFile(path, []byte(`{"theme":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Agent.(agenthost.TerminalAgent).Terminal(t.Context()); err == nil {
		t.Error("an unreadable file was replaced")
	}
}

// A program of the session that puts a link in the place of the state gets no file of the host with it.
func TestALinkInThePlaceOfTheStateIsNotRead(t *testing.T) {
	t.Parallel()
	s := open(t, opening{}, "")
	secret, path := filepath.Join(t.TempDir(), "secret.json"), filepath.Join(s.spec.StateDir, ".claude.json")
	if err := errors.Join(os.WriteFile(secret, []byte(`{"key":"of the host"}`), 0o600), os.Symlink(secret, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Agent.(agenthost.TerminalAgent).Terminal(t.Context()); err == nil {
		t.Error("the link was followed")
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link was replaced by what it leads to: %v %v", info, err)
	}
}

// sessionStart returns the command of the hook, which must post its input with the secret.
func sessionStart(t *testing.T, settings string) string {
	t.Helper()
	var written struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	content, err := os.ReadFile(settings)
	if err != nil || json.Unmarshal(content, &written) != nil || len(written.Hooks["SessionStart"]) != 1 {
		t.Fatalf("%s: %v", content, err)
	}
	command := written.Hooks["SessionStart"][0].Hooks[0].Command
	got := make(chan string, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + r.URL.Path + " " + r.Header.Get("Authorization") + " " + r.Header.Get("X-Workspace-Path") + " " +
			string(body)
		_, _ = io.WriteString(w, "{}")
	}))
	defer web.Close()
	_, port, _ := net.SplitHostPort(web.Listener.Addr().String())
	for _, c := range []struct{ port, want string }{
		{port, `POST/hook Bearer geheim /a b {"hook_event_name":"SessionStart","title":"ä \"b\" %s"}`}, {"1", ""},
	} {
		run := exec.CommandContext(t.Context(), "sh", "-c", command)
		run.Env = []string{
			"PATH=" + os.Getenv("PATH"), "BELLHOP_HOOK_PORT=" + c.port, "BELLHOP_WORKSPACE_SECRET=geheim",
			"BELLHOP_WORKSPACE_PATH=/a b",
		}
		run.Stdin = strings.NewReader(`{"hook_event_name":"SessionStart","title":"ä \"b\" %s"}`)
		if output, err := run.CombinedOutput(); err != nil || len(output) > 0 {
			t.Errorf("it prints %q: %v", output, err)
		}
		if c.want == "" {
			continue
		}
		if posted := <-got; posted != c.want {
			t.Errorf("posted %s", posted)
		}
	}
	return command
}
