package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/testenv/basic"
	"bellhop/protocol"
)

func loneBroker(t *testing.T) *running {
	t.Helper()
	return withUser(t, runBroker(t, app.BrokerConfig{StoreConfig: app.StoreConfig{
		DatabaseURL: seal.NewSecret("sqlite:" + filepath.Join(t.TempDir(), "broker.db")), Keyset: newKeyset(t),
	}}))
}

var direct = &http.Client{Transport: transport}

func TestABasicHostAndABasicFrontendWorkWithOurBroker(t *testing.T) {
	t.Parallel()
	host := &basic.Host{Password: hostPassword, Client: direct}
	server := httptest.NewServer(host)
	t.Cleanup(server.Close)
	b := loneBroker(t)
	task := b.task(t, server.URL, "")
	frontend := &basic.Frontend{BrokerURL: b.URL, Token: b.token, Client: direct}
	for _, message := range []string{"first", "second"} {
		for _, err := range frontend.Ask(t.Context(), task, message) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, posted := range host.Posted() {
		if posted.Status != http.StatusOK {
			t.Errorf("%v was answered with %d %s", posted.Body, posted.Status, posted.Answer)
		}
	}
	// AI SDK 5 gives every text the id "text-1" and every turn's first tool "call-1".
	want := []string{
		"USER first", "ASSISTANT Let me look.", "TOOL done", "ASSISTANT You said: first",
		"USER second", "ASSISTANT Let me look.", "TOOL done", "ASSISTANT You said: second",
	}
	if got := shown(t, messagesOf(t, b.client(), task)); !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
}

// shown returns one line per message.
func shown(t testing.TB, messages []protocol.Message) (lines []string) {
	t.Helper()
	for _, m := range messages {
		line := string(m.Role) + " " + m.Message
		for _, artifact := range m.Artifacts {
			var use protocol.ToolUse
			if err := json.Unmarshal(artifact.Content, &use); err != nil {
				t.Error(err)
			}
			line = "TOOL " + string(use.State)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestABasicFrontendWorksWithBothOfOurs(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task := s.task("basic frontend")
	frontend := &basic.Frontend{BrokerURL: s.broker.url, Token: s.token, Client: direct}
	text, last := "", ""
	for data, err := range frontend.Ask(t.Context(), task, "slow 5") {
		if err != nil {
			t.Fatal(err)
		}
		var part struct{ Type, Text string }
		if err := json.Unmarshal(data, &part); err != nil {
			t.Fatal(err)
		}
		text, last = text+part.Text, part.Type
	}
	if text != "1 2 3 4 5" || last != "finish" {
		t.Errorf("streamed %q up to a %s", text, last)
	}
	if got := stored(t, s.user(), task); !slices.Equal(got, []string{text}) {
		t.Errorf("stored are %q", got)
	}
}

func TestABasicBrokerWorksWithOurHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		strict bool
	}{{"that ignores unknown members", false}, {"that refuses unknown members", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := &basic.Broker{Client: direct, Strict: c.strict}
			server := httptest.NewServer(b)
			t.Cleanup(server.Close)
			b.URL = server.URL
			host := runHost(t, &providertest.Fake{})
			for range 2 {
				basicTurn(t, b, host.URL)
			}
			want := []string{"text hello", "tool-call ls", "tool-result ls", "text bye"}
			want = append(want, want...)
			eventually(t, "the events arrive", func() bool { return len(b.Events()) >= len(want) })
			var got []string
			for _, raw := range b.Events() {
				var e struct{ Type, Text, ToolName, SessionID string }
				if err := json.Unmarshal(raw, &e); err != nil || e.SessionID != "basic" {
					t.Errorf("%s: %v", raw, err)
				}
				got = append(got, e.Type+" "+e.Text+e.ToolName)
			}
			if !slices.Equal(got, want) {
				t.Errorf("posted are %q, want %q", got, want)
			}
		})
	}
}

func basicTurn(t *testing.T, b *basic.Broker, hostURL string) {
	t.Helper()
	token, err := b.Open(t.Context(), hostURL, hostPassword, "basic")
	if err != nil {
		t.Fatal(err)
	}
	frontend := &basic.Frontend{Client: direct}
	in := &basic.CheckIn{StreamToken: token, StreamURL: hostURL + "/stream/basic"}
	var types []string
	for data, err := range frontend.Stream(t.Context(), in, "text hello\nend\ntool ls\ntext bye\nend") {
		if err != nil {
			t.Fatal(err)
		}
		var part struct{ Type string }
		if err := json.Unmarshal(data, &part); err != nil {
			t.Fatal(err)
		}
		types = append(types, part.Type)
	}
	const want = "text-start text-delta text-end tool-call tool-result text-start text-delta text-end finish"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("streamed %s, want %s", got, want)
	}
}
