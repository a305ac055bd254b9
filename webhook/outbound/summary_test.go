package outbound_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

// A text is complete only if it shows everything that a yes would allow.
func TestTheSummaryOfAQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		data     map[string]any
		args     string
		text     string
		complete bool
		prefix   bool
	}{
		{"a prompt alone", map[string]any{"prompt": "Run make?"}, "", "Run make?", true, false},
		{"arguments that it contains", map[string]any{"prompt": "Run make?"}, `{"command":"make"}`, "Run make?", true, false},
		{
			"arguments that it lacks",
			map[string]any{"prompt": "Run Bash?"},
			`{"command": "make"}`,
			`Run Bash? {"command":"make"}`, true, false,
		},
		{
			"words of the agent, which are no arguments",
			map[string]any{"prompt": "Read the README"},
			`{"title":"Read the README"}`,
			`Read the README {"title":"Read the README"} (only words of the agent)`, false, false,
		},
		{
			"words beside arguments",
			map[string]any{"prompt": "Run make?"},
			`{"command":"make","description":"Builds"}`,
			`Run make? {"command":"make","description":"Builds"}`, true, false,
		},
		{"arguments that are no texts", map[string]any{"prompt": "Read 5"}, `{"limit":5}`, `Read 5 {"limit":5}`, true, false},
		{
			"a warning",
			map[string]any{"prompt": "Run rm?", "warning": "deletes files"},
			"null",
			"Run rm? (deletes files)", true, false,
		},
		{"arguments that are malformed", map[string]any{"prompt": "Run?"}, `{"a`, "Run? (unreadable arguments)", false, false},
		{"several lines", map[string]any{"prompt": "Run true #\nrm -rf /?"}, "", "Run true # rm -rf /?", false, false},
		{
			"an order of writing that is turned around",
			map[string]any{"prompt": "Run \u202e fr- mr?"},
			"",
			"Run \ufffd fr- mr?", false, false,
		},
		{"control characters", map[string]any{"prompt": "Run \x1b[2K?"}, "", "Run \ufffd[2K?", false, false},
		{"a text that is too long", map[string]any{"prompt": strings.Repeat("x", 800)}, "", "xxx", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			event := outbound.TaskEvent{Type: protocol.WebhookInteractionOpened, Data: c.data, Args: json.RawMessage(c.args)}
			got, err := event.Summary()
			if err != nil {
				t.Fatal(err)
			}
			same := got.Text == c.text || c.prefix && strings.HasPrefix(got.Text, c.text)
			if got.Complete != c.complete || !same {
				t.Errorf("%q, complete %v", got.Text, got.Complete)
			}
		})
	}
}

func TestAHostileTitleIsOneHarmlessParagraph(t *testing.T) {
	t.Parallel()
	event := outbound.TaskEvent{Type: protocol.WebhookTurnFinished, Data: map[string]any{
		"title": "a\n\u202eb\x00\x1b]0;c\x07" + strings.Repeat("🎉", 100),
	}}
	got, err := event.Summary()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Title) > 124 || strings.ContainsAny(got.Title, "\n\u202e\x00\x1b\x07") {
		t.Errorf("%d bytes: %q", len(got.Title), got.Title)
	}
}
