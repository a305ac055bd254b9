package app

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// runHost runs a host with a fake agent until the test ends or stop is called.
func runHost(
	t *testing.T, data string, projects map[string]ProjectFile, fake *providertest.Fake,
) (h *Host, stop func()) {
	t.Helper()
	h, err := OpenHost(HostConfig{
		Listen: "127.0.0.1:0", Password: seal.NewSecret("pw"), Data: data, AgentsDir: t.TempDir(), Agent: "fake",
		File: HostFile{Projects: projects}, Providers: map[string]agenthost.Provider{"fake": fake},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return h, stop
}

type withSecret string

func (s withSecret) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(s))
	return http.DefaultTransport.RoundTrip(r)
}

// tools returns a function that calls a tool as the agent of a session does.
func tools(t *testing.T, local *agenthost.Local) func(tool string, args map[string]any) (map[string]any, string) {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{
			Endpoint: local.MCPURL, HTTPClient: &http.Client{Transport: withSecret(local.Secret)},
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return func(tool string, args map[string]any) (map[string]any, string) {
		t.Helper()
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		if result.IsError {
			return nil, result.Content[0].(*sdk.TextContent).Text
		}
		out, _ := result.StructuredContent.(map[string]any)
		return out, ""
	}
}

func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--allow-empty", "--message=first"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v %s", args, err, out)
		}
	}
	return dir
}

// The tools for an agent's clone work on a real repository, also after the host
// restarts.
func TestToolsOfAnAgentOnARealClone(t *testing.T) {
	t.Parallel()
	data, project, fake := t.TempDir(), repository(t), &providertest.Fake{}
	projects := map[string]ProjectFile{"shop": {Path: project, Commands: map[string][]string{"where": {"pwd"}}}}
	h, stop := runHost(t, data, projects, fake)
	opened, err := h.Domain.OpenHeadless(t.Context(), &agenthost.HeadlessRequest{Agent: "fake", Project: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	watch := h.Domain.WatchStatus()
	defer watch.Close()
	if err := h.Domain.Input(t.Context(), agenthost.Grant{SessionID: opened.SessionID},
		&protocol.PromptRequest{Prompt: "text hi"}); err != nil {
		t.Fatal(err)
	}
	for status := (*agenthost.HostStatus)(nil); status == nil || status.OpenTurns > 0; {
		<-watch.C
		if status, err = h.Domain.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	spec := fake.Specs()[0]
	if spec.Dir == project || spec.Local == nil {
		t.Fatalf("the agent works in %s with %+v", spec.Dir, spec.Local)
	}
	call := tools(t, spec.Local)
	got, failure := call("workspace_getStatus", nil)
	if got["path"] != spec.Dir || got["project"] != "shop" || got["dirty"] != false || got["branch"] == "" ||
		failure != "" {
		t.Errorf("status %v %s", got, failure)
	}
	if err := os.WriteFile(filepath.Join(spec.Dir, "new.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ = call("workspace_getStatus", nil); got["dirty"] != true {
		t.Errorf("with a new file: %v", got)
	}
	wantDescribed(t, h, call, spec.Dir)
	got, failure = call("workspace_executeCommand", map[string]any{"command": "where"})
	if where, _ := got["output"].(string); !strings.HasSuffix(strings.TrimSpace(where), filepath.Base(spec.Dir)) {
		t.Errorf("the command ran in %q %s", where, failure)
	}
	made, failure := call("workspace_create", map[string]any{"name": "second"})
	path, _ := made["path"].(string)
	if failure != "" || path == spec.Dir {
		t.Fatalf("made %v %s", made, failure)
	}
	if err := os.WriteFile(filepath.Join(path, "mine.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for about, target := range map[string]string{
		"the project": project, "its own": spec.Dir, "unfinished work": path, "all data": data,
	} {
		if got, failure := call("workspace_delete", map[string]any{
			"path": target, "force": about != "unfinished work",
		}); failure == "" {
			t.Errorf("%s was deleted: %v", about, got)
		}
	}

	port := spec.Local.HookURL
	stop()
	_, _ = runHost(t, data, projects, fake)
	call = tools(t, spec.Local) // at the same address, with the same secret
	if got, failure = call("workspace_getStatus", map[string]any{"path": path}); got["dirty"] != true {
		t.Errorf("after a restart at %s: %v %s", port, got, failure)
	}
	if got, failure = call("workspace_delete", map[string]any{"path": path, "force": true}); got["deleted"] != true {
		t.Errorf("by force: %v %s", got, failure)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// wantDescribed expects that the status describes the workspace, without the keys of the host.
func wantDescribed(t *testing.T, h *Host, call func(string, map[string]any) (map[string]any, string), dir string) {
	t.Helper()
	if _, failure := call("workspace_setMetadata", map[string]any{"key": "note", "value": "x"}); failure != "" {
		t.Error(failure)
	}
	made, failure := call("workspace_create", map[string]any{"name": "described"})
	if failure != "" {
		t.Fatal(failure)
	}
	for path, want := range map[string]agenthost.WorkspaceDescription{
		dir:                   {Dirty: true, Metadata: map[string]string{"note": "x"}},
		made["path"].(string): {Branch: made["branch"].(string), Metadata: map[string]string{}},
	} {
		got, err := h.api.Describe(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if want.Branch == "" && got.Branch != "" { // named after the session
			want.Branch = got.Branch
		}
		if !reflect.DeepEqual(*got, want) || got.Branch == "" {
			t.Errorf("%s is %+v, want %+v", path, got, want)
		}
	}
}
