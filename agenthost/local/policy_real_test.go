//go:build agents

package local_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"bellhop/agenthost"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// denials deny what agents take for harmless.
const denials = `
version: 1
rules:
  - {name: no-mcp, tool: "mcp:*", action: deny, message: No servers here}
  - {name: no-echo, tool: "shell:run", command: "echo *", action: deny, message: No echo here}
  - {name: no-read, tool: "file:read", path: "secret.txt", action: deny, message: Not this file}
`

// A deny holds for tools about which the agent itself would not ask. An agent's calls are turns of one session, because
// starting its program is most of the work.
func TestADenyHoldsForEveryRealAgent(t *testing.T) {
	t.Parallel()
	for name, c := range realAgents {
		llm := mockllm.New(t)
		provider := c.provider(agents.FindCommand(t, name), llm.URL, t.TempDir())
		s := newTestHostUnder(t, denials, map[string]agenthost.Provider{name: provider})
		opened, err := s.host.OpenHeadless(t.Context(), &agenthost.HeadlessRequest{Agent: name, Model: c.model})
		if err != nil {
			t.Fatal(err)
		}
		dir, _, err := s.spaces.Dir(t.Context(), opened.SessionID, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("seen"), 0o600); err != nil {
			t.Fatal(err)
		}
		for what, denied := range map[string]struct{ prompt, rule string }{
			"a command":             {"BASH echo seen", "no-echo"},
			"a program by its path": {"BASH /bin/echo seen", "no-echo"},
			"a tool of a server":    {"CALL " + c.tool + ` {"key":"seen","value":"seen"}`, "no-mcp"},
			"a file":                {"READ secret.txt", "no-read"},
		} {
			t.Run(name+" and "+what, func(t *testing.T) {
				s.T = t
				before := len(s.eventsOf(opened.SessionID))
				s.turn(opened.SessionID, denied.prompt)
				s.wantDenied(opened.SessionID, before, denied.rule)
			})
		}
		s.T = t
		s.end()
	}
}

// eventsOf returns a session's events.
func (s *testHost) eventsOf(id string) []protocol.Event {
	s.Helper()
	page, err := s.host.Events(s.Context(), id, agenthost.EventsQuery{Limit: protocol.MaxEventsPage})
	if err != nil {
		s.Fatal(err)
	}
	events := make([]protocol.Event, len(page.Events))
	for i, raw := range page.Events {
		if err := json.Unmarshal(raw, &events[i]); err != nil {
			s.Fatal(err)
		}
	}
	return events
}

// wantDenied checks that a rule denied the session's only call after the first events.
func (s *testHost) wantDenied(id string, first int, rule string) {
	s.Helper()
	events := s.eventsOf(id)[first:]
	var answers, results []protocol.Event
	for _, e := range events {
		switch e.Type {
		case protocol.EventInteraction:
			answers = append(answers, e)
		case protocol.EventToolResult:
			results = append(results, e)
		}
	}
	if len(answers) != 1 || answers[0].Answer == nil || *answers[0].Answer.Approved ||
		answers[0].Answer.Reason != "policy: "+rule {
		s.Errorf("the policy's answers: %+v", answers)
	}
	if len(results) != 1 || !results[0].Denied || bytes.Contains(results[0].Output, []byte("seen")) {
		s.Errorf("the results: %+v", results)
	}
	if s.Failed() {
		for _, e := range events {
			s.Logf("%s %s input=%s output=%s args=%s answer=%+v", e.Type, e.ToolName, e.Input, e.Output, e.Args, e.Answer)
		}
		s.Log(s.log)
	}
}
