package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/client"
	"bellhop/protocol"
)

// An agent creates a workspace, its user starts a task in it, and the agent of that task works on
// the files that are there.
func TestATaskWorksInAWorkspaceThatAnAgentCreated(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	first, c := s.task("creates it"), s.user()
	s.recorded(t, first, "list")
	s.arrived(first)
	s.callWorkspaceTool(first, "workspace_create", map[string]any{"name": "fix"})
	dir := filepath.Join(s.hostData(), "workspaces", "@fix")
	s.callWorkspaceTool(first, "workspace_setMetadata", map[string]any{"path": dir, "key": "port", "value": "3000"})
	if err := os.WriteFile(filepath.Join(dir, "plan.txt"), []byte("of the first agent"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := c.Workspaces(t.Context())
	if err != nil || len(list.Hosts) != 1 || len(list.Hosts[0].Workspaces) != 1 {
		t.Fatalf("workspaces %+v, %v", list, err)
	}
	w := list.Hosts[0].Workspaces[0]
	if w.Name != "fix" || !w.Dirty || w.CreatedBy != first || w.UsedBy != "" || w.Metadata["port"] != "3000" {
		t.Errorf("the workspace is shown as %+v", w)
	}

	task, err := c.CreateTask(t.Context(), &protocol.CreateTaskRequest{
		Title: "works in it", Agent: "demo", Workspace: "fix", PermissionMode: protocol.ModeAcceptEdits,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.recorded(t, task.ID, "read plan.txt")
	s.recorded(t, task.ID, "write result.txt: done")
	s.arrived(task.ID)
	if _, err := os.Stat(filepath.Join(dir, "result.txt")); err != nil {
		t.Errorf("the file of the task's agent: %v", err)
	}
	page, err := c.Messages(t.Context(), task.ID, client.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := json.Marshal(page.Messages); err != nil || !strings.Contains(string(rows), "of the first agent") {
		t.Error("the agent did not read the file of the first agent")
	}
	shown, err := c.TaskWorkspace(t.Context(), task.ID)
	if err != nil || shown.Workspace == nil {
		t.Fatalf("the task shows %+v, %v", shown, err)
	}
	if w := shown.Workspace; !w.Dirty || w.Branch != "main" || w.Metadata["port"] != "3000" {
		t.Errorf("the task shows %+v", w)
	}
	s.secondTaskIsRefused()

	if _, err := c.DeleteTask(t.Context(), task.ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "result.txt")); err != nil {
		t.Errorf("deleting the task deleted the workspace: %v", err)
	}
	if status := s.withPasswordOnly(http.MethodGet, "/workspaces"); status != http.StatusBadRequest {
		t.Errorf("the password without the user's key: %d", status)
	}
}

func (s *stack) secondTaskIsRefused() {
	s.t.Helper()
	_, err := s.user().CreateTask(s.t.Context(), &protocol.CreateTaskRequest{
		Title: "another", Agent: "demo", Workspace: "fix",
	})
	if err == nil || !strings.Contains(err.Error(), "Another task works in the workspace") {
		s.t.Errorf("a second task: %v", err)
	}
}

// callWorkspaceTool calls a tool as a program in the session's workspace does.
func (s *stack) callWorkspaceTool(session, tool string, args map[string]any) {
	s.t.Helper()
	port, err := os.ReadFile(filepath.Join(s.hostData(), "local-port"))
	if err != nil {
		s.t.Fatal(err)
	}
	var secret string
	db := openSQL(s.t, "sqlite3", "file:"+s.journal()+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	rows(s.t, db,
		`SELECT secret FROM sessions WHERE id = '`+session+`'`, func(r *sql.Rows) error { return r.Scan(&secret) })
	_ = db.Close()
	program := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, nil)
	connection, err := program.Connect(s.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: "http://127.0.0.1:" + strings.TrimSpace(string(port)) + "/mcp", MaxRetries: -1, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: withBearer(secret)},
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	result, err := connection.CallTool(context.WithoutCancel(s.t.Context()),
		&sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil || result.IsError {
		s.t.Fatalf("%s: %+v, %v", tool, result, err)
	}
}

// withBearer is a transport that sends a token.
type withBearer string

func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return transport.RoundTrip(r)
}
