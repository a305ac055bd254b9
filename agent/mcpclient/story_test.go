package mcpclient

import (
	"net/http"
	"testing"

	"bellhop/agent"
	"bellhop/agent/model"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// TestAModelUsesAServersToolWithPermission covers the complete path: model, agent, question,
// server, result, model.
func TestAModelUsesAServersToolWithPermission(t *testing.T) {
	t.Parallel()
	for value, want := range map[bool]string{
		true:  "All done. Tool said: you said hi",
		false: "All done. Tool said: Denied by the user.",
	} {
		dir := t.TempDir()
		llm := mockllm.New(t)
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		m, err := model.Open("openai/mock-1", model.Options{
			BaseURL: llm.URL + "/v1", Client: &http.Client{Transport: transport},
		})
		if err != nil {
			t.Fatal(err)
		}
		servers := connected(t, map[string]Server{"x": self(t)}, dir)
		lines := make(chan protocol.Line, 100)
		session, err := agent.Open(agent.Options{Dir: dir, Completer: m, Model: m.Name, Tools: servers.Tools()},
			agent.Front{Write: func(line protocol.Line) { lines <- line }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(session.Close)
		prompt := `CALL mcp__x__echo {"text":"hi"}`
		if err := session.Handle(&protocol.Line{Type: protocol.LineInput, Text: &prompt}); err != nil {
			t.Fatal(err)
		}
		reply := ""
		for over := false; !over; {
			line := <-lines
			switch line.Type {
			case protocol.LineConfirm:
				if line.ToolName != "mcp__x__echo" || line.Prompt != "Use echo of the MCP server x?" {
					t.Errorf("asked %+v", line)
				}
				if err := session.Handle(&protocol.Line{
					Type: protocol.LineConfirmation, RequestID: line.RequestID, Value: &value,
				}); err != nil {
					t.Fatal(err)
				}
			case protocol.LineMessage:
				reply = *line.Content
			}
			over = line.State == protocol.StateWaitingForInput
		}
		if reply != want {
			t.Errorf("allowed %v: got %q", value, reply)
		}
	}
}
