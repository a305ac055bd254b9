//go:build agents

package codex_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
)

func TestTheRealProgramCallsTheHostsTool(t *testing.T) {
	options, spec := real(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "bellhop", Version: "1"}, nil)
	type nothing struct{}
	type status struct {
		Dirty bool `json:"dirty"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "workspace_getStatus", Description: "status"},
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, status, error) {
			return nil, status{Dirty: true}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("%s without the bearer", r.Method)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	spec.Model = "mock-1" // those of the catalogue have to search for tools first
	spec.Local = &agenthost.Local{MCPURL: web.URL, Secret: "s3cret"}
	out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
		return agenthost.Answer{Approved: true}, nil
	}}
	run(t, opened(t, options, spec), out, "CALL workspace_getStatus {}")
	asked := out.Of(providertest.KindConfirm)
	if len(asked) != 1 || asked[0].Question.ToolName != "mcp__bellhop__workspace_getStatus" || asked[0].Question.ToolCallID == "" {
		t.Errorf("asked %+v", asked)
	}
	results := out.Of(providertest.KindResult)
	if len(results) != 1 || !strings.Contains(string(results[0].Result.Output), "dirty") {
		for _, e := range out.Entries() {
			t.Logf("%s %q call=%s %s result=%s q=%+v args=%s", e.Kind, e.Text, e.Call.Name, e.Call.Input, e.Result.Output, e.Question, e.Question.Args)
		}
		t.Errorf("got %+v", results)
	}
}
