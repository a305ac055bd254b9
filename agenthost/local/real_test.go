//go:build agents

package local_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/provider/codex"
	"bellhop/agenthost/provider/opencode"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// realAgents are the agents that the tests run.
var realAgents = map[string]struct {
	model, tool string
	provider    func(command []string, llm, records string) agenthost.Provider
}{
	"opencode": {
		"openai-compatible/mock-1", "bellhop_workspace_setMetadata",
		func(command []string, llm, records string) agenthost.Provider {
			return opencode.New(opencode.Options{
				Find: at(command[0]), Env: []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + llm + "/v1"}, Records: records,
			})
		},
	},
	"claude": {"", "mcp__bellhop__workspace_setMetadata", func(command []string, llm, records string) agenthost.Provider {
		return claude.New(claude.Options{
			Find: at(command[0]),
			Env:  []string{"ANTHROPIC_BASE_URL=" + llm, "ANTHROPIC_API_KEY=mock-key-0123456789-0123456789"}, Records: records,
		})
	}},
	"codex": {"mock-1", "workspace_setMetadata", func(command []string, llm, records string) agenthost.Provider {
		return codex.New(codex.Options{
			Find: at(command[0]), Env: []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + llm + "/v1"}, Records: records,
			Retries: 1, Grace: 10 * time.Second,
		})
	}},
	"gemini": {"", "mcp_bellhop_workspace_setMetadata", func(command []string, llm, records string) agenthost.Provider {
		return acp.Gemini(acp.Options{
			Command: func(context.Context) ([]string, error) { return command, nil },
			Env:     []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + llm},
			Records: records, Grace: 10 * time.Second,
		})
	}},
}

// Real agents with a scripted model call the host's tools, by the configuration that
// their providers write.
func TestRealAgentsCallTheHostsTools(t *testing.T) {
	t.Parallel()
	for name, c := range realAgents {
		t.Run(name, func(t *testing.T) {
			llm := mockllm.New(t)
			provider := c.provider(agents.FindCommand(t, name), llm.URL, t.TempDir())
			s := newTestHostWith(t, map[string]agenthost.Provider{name: provider})
			opened, err := s.host.OpenHeadless(t.Context(), &agenthost.HeadlessRequest{Agent: name, Model: c.model})
			if err != nil {
				t.Fatal(err)
			}
			id := opened.SessionID
			s.begin(id, "CALL "+c.tool+` {"key":"seen","value":"by `+name+`"}`)
			s.approveAll(id)
			dir, _, err := s.spaces.Dir(t.Context(), id, "")
			if err != nil {
				t.Fatal(err)
			}
			notes, err := s.spaces.Metadata(t.Context(), dir)
			if err != nil || notes["seen"] != "by "+name {
				lines, _ := s.host.History(t.Context(), id)
				for _, l := range lines {
					text := ""
					if l.Content != nil {
						text = *l.Content
					}
					t.Logf("%s %s %s %s", l.Type, l.Name, l.Arguments, text)
				}
				for _, r := range llm.Requests() {
					t.Logf("the model was offered %q", r.Tools())
				}
				t.Errorf("noted %v, %v", notes, err)
			}
		})
	}
}

func at(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return path, nil }
}

// approveAll allows every permission until the turn ends.
func (s *testHost) approveAll(id string) {
	s.Helper()
	yes := true
	s.waitForStatus("the turn ends", func(st *agenthost.HostStatus) bool {
		if st.OpenTurns == 0 {
			return true
		}
		if st.Sessions[0].OpenInteractions == 0 {
			return false
		}
		lines, err := s.host.History(s.Context(), id)
		if err != nil {
			s.Fatal(err)
		}
		for _, line := range slices.Backward(lines) {
			if line.Type == protocol.LineConfirm {
				reply := &protocol.Line{Type: protocol.LineConfirmation, RequestID: line.RequestID, Value: &yes}
				if err := s.host.Reply(s.Context(), id, reply, protocol.ByLocal); err != nil {
					s.Log(err) // already answered
				}
				break
			}
		}
		return false
	})
}

// A Claude Code in a terminal, started with the provider's terminal command, reports its
// status by hooks.
func TestHooksOfARealClaudeInATerminal(t *testing.T) {
	t.Parallel()
	path := agents.Find(t, "claude")
	llm := mockllm.New(t)
	s := newTestHost(t)
	id, spec := s.session()
	spec.AgentSessionID = ""
	agent, err := claude.New(claude.Options{
		Find: at(path), Env: []string{"ANTHROPIC_BASE_URL=" + llm.URL, "ANTHROPIC_API_KEY=mock-key-0123456789-0123456789"},
	}).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := agent.(agenthost.TerminalAgent).Terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(terminal.Command[1:]), "--print", "SLOW 10")
	person := exec.CommandContext(t.Context(), terminal.Command[0], args...)
	person.Dir, person.Env = terminal.Dir, append(terminal.Env, "PATH="+os.Getenv("PATH"))
	var output bytes.Buffer
	person.Stdout, person.Stderr = &output, &output
	if err := person.Start(); err != nil {
		t.Fatal(err)
	}
	s.waitForWorkspace(spec.Dir, protocol.StatusBusy, "")
	s.waitForStatus("the session says why", func(st *agenthost.HostStatus) bool {
		return st.Sessions[0].ID == id && st.Sessions[0].Reason == protocol.ReasonTerminal
	})
	s.waitForWorkspace(spec.Dir, protocol.StatusIdle, "")
	if err := person.Wait(); err != nil {
		t.Errorf("%v: %s", err, output.String())
	}
	if strings.Contains(s.log.String(), `"status":4`) {
		t.Errorf("a hook was refused\n%s", s.log)
	}
	s.waitForStatus("the turn is in the history", func(*agenthost.HostStatus) bool {
		shown := s.linesOfTerminal(id)
		return strings.HasPrefix(shown, "input SLOW 10, message ") && strings.HasSuffix(shown, ", state done")
	})
}
