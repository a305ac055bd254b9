//go:build agents

package local_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"bellhop/agenthost"
	"bellhop/internal/testenv/agents"
	"bellhop/internal/testenv/mockllm"
)

// After a restart of the host each agent knows the earlier conversation, from its
// own memory or, if that is lost, from the restored record.
func TestRealAgentsContinueAfterARestart(t *testing.T) {
	t.Parallel()
	for name, c := range realAgents {
		t.Run(name, func(t *testing.T) {
			command := agents.FindCommand(t, name)
			llm := mockllm.New(t)
			s := newTestHostWith(t, map[string]agenthost.Provider{name: c.provider(command, llm.URL, t.TempDir())})
			opened, err := s.host.OpenHeadless(t.Context(), &agenthost.HeadlessRequest{Agent: name, Model: c.model})
			if err != nil {
				t.Fatal(err)
			}
			id := opened.SessionID
			const record = "your own memory of it is gone"
			for life, want := range []struct{ word, earlier string }{
				{"xylograph", ""}, {"second", "xylograph"}, {"third", "xylograph"},
			} {
				if life == 2 {
					emptyHome(t, filepath.Join(s.root, "state-"+id))
				}
				before := len(llm.Requests())
				s.turn(id, "The word of this turn is "+want.word)
				var received bytes.Buffer
				for _, r := range llm.Requests()[before:] {
					received.Write(r.Body)
				}
				if !bytes.Contains(received.Bytes(), []byte(want.word)) || !bytes.Contains(received.Bytes(), []byte(want.earlier)) {
					t.Errorf("after start %d the model did not get %q and %q", life+1, want.word, want.earlier)
				}
				if restored := bytes.Contains(received.Bytes(), []byte(record)); restored != (life == 2) {
					t.Errorf("after start %d the model got the record: %t", life+1, restored)
				}
				s.end()
				// Gemini CLI does not resume a chat within the minute in which it began.
				agents.AgeGemini(t, filepath.Join(s.root, "state-"+id))
				s.start()
			}
		})
	}
}

// emptyHome deletes the agent's memory.
func emptyHome(t *testing.T, home string) {
	t.Helper()
	entries, err := os.ReadDir(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(home, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
