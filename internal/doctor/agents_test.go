package doctor

import (
	"slices"
	"testing"

	"bellhop/protocol"
)

func TestAgentsThatCannotRunAreFound(t *testing.T) {
	t.Parallel()
	demo := protocol.OfferedAgent{ID: "demo", Kind: "demo", Installed: true}
	agent := func(id string, installed bool, key *bool) protocol.OfferedAgent {
		return protocol.OfferedAgent{ID: id, Kind: id, Installed: installed, HasKey: key, Problem: "it is not installed."}
	}
	yes, no := true, false
	for name, c := range map[string]struct {
		defaultAgent string
		agents       []protocol.OfferedAgent
		want         []string
	}{
		"only the demo": {
			"demo",
			[]protocol.OfferedAgent{demo, agent("claude", false, nil)},
			[]string{"warning: It has no agent but the demo, which is a script."},
		},
		"no agent": {"", []protocol.OfferedAgent{}, []string{"warning: It has no agent but the demo, which is a script."}},
		"a missing default": {
			"claude",
			[]protocol.OfferedAgent{demo, agent("claude", false, nil)},
			[]string{"error: Its default agent claude cannot run: it is not installed."},
		},
		"no key": {
			"claude",
			[]protocol.OfferedAgent{agent("claude", true, &no), agent("codex", true, &yes)},
			[]string{"warning: Its agent claude has no key of a language model.", "ok: It can run: codex."},
		},
		"keys, and one that the host cannot know": {
			"claude",
			[]protocol.OfferedAgent{agent("claude", true, &yes), agent("mine", true, nil)},
			[]string{"ok: It can run: claude, mine."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			offer := &protocol.HostOffer{DefaultAgent: c.defaultAgent, Agents: c.agents}
			for _, f := range checkAgents(Host{Name: "far"}, offer) {
				got = append(got, string(f.Level)+": "+f.Message)
				if f.Check != CheckAgents || f.Where != "far" || (f.Remedy == "") != (f.Level == OK) {
					t.Errorf("%+v", f)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
