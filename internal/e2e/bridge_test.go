//go:build full

package e2e

import (
	"bufio"
	"context"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/protocol"
)

// An agent behind the stdio bridge, without a webhook, polls and responds.
func TestAnAgentOnTheStdioBridgePollsAndResponds(t *testing.T) {
	t.Parallel()
	s, token := notebookStack(t, sqlite)
	s.broker.start()
	cmd := exec.Command(binary(t), "mcp", "--url", s.broker.url)
	cmd.Env = append(baseEnv(), "BELLHOP_TOKEN="+token)
	e := newEditor(t, &mcp.CommandTransport{Command: cmd})
	var book opened
	e.call("create_agent_notebook", map[string]any{"agentName": "Ada", "agentIdentifier": "ada"}, &book)
	var source saved
	e.call("save_code_with_context",
		map[string]any{
			"notebookId": book.Notebook.ID, "title": "t", "code": "const x: number = ;", "language": "ts", "context": "c",
		}, &source)
	if v := source.Source.Metadata.Verification; source.Source.Metadata.IsVerified ||
		v.Tool != "github.com/evanw/esbuild" || v.Verdict != protocol.VerifyFailed {
		t.Errorf("verification %+v", v)
	}
	s.as(t, s.token, "POST", "/api/sources/"+source.Source.ID+"/conversation", map[string]any{"content": "?"}, 201, nil)
	var open struct {
		Messages []protocol.Followup `json:"messages"`
	}
	e.call("get_followup_messages", map[string]any{}, &open)
	if len(open.Messages) != 1 {
		t.Fatalf("open %+v", open)
	}
	feed := s.hints(t)
	var replied saved
	e.call("respond_to_followup", map[string]any{
		"messageId": open.Messages[0].ID, "response": "Mended.",
		"codeUpdate": map[string]any{"code": "const x: number = 1;", "description": "mended"},
	}, &replied)
	if replied.Source.Version != 2 || !replied.Source.Metadata.IsVerified {
		t.Errorf("source %+v", replied.Source)
	}
	feed.await(t, `"status":"active","event":"answered","sourceId":"`+source.Source.ID+`"}`)
	again, err := e.session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "respond_to_followup", Arguments: map[string]any{"messageId": open.Messages[0].ID, "response": "Again."},
	})
	if err != nil || !again.IsError {
		t.Errorf("answered twice: %v %+v", err, again)
	}
	s.as(t, s.token, "POST", "/api/agent-sessions/"+book.AgentSession.ID+"/disconnect", nil, 200, nil)
	feed.await(t, `"status":"disconnected","event":"disconnected","sourceId":""}`)
	s.as(t, token, "GET", "/api/tasks", nil, 403, nil)
	s.as(t, token, "GET", "/api/notebooks", nil, 403, nil)
}

// hintFeed is the feed that a console reads.
type hintFeed struct{ lines *bufio.Scanner }

func (s *stack) hints(t *testing.T) *hintFeed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.broker.url+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := bearer(s.token).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	f := &hintFeed{bufio.NewScanner(resp.Body)}
	f.await(t, `"tasks":[]`)
	return f
}

// await reads up to a line that contains text.
func (f *hintFeed) await(t *testing.T, text string) {
	t.Helper()
	for f.lines.Scan() {
		if strings.Contains(f.lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the feed ended without %s: %v", text, f.lines.Err())
}
