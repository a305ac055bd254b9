package agenthost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// texts are the text events of a session.
func (r *rig) texts(session string) []string {
	r.delivered()
	var out []string
	for _, e := range r.broker.of(session) {
		if e.Type == protocol.EventText {
			out = append(out, *e.Text)
		}
	}
	return out
}

// streamed is the text of each block, as a reader of the stream has it.
func streamed(frames []frame) []string {
	var out []string
	text := ""
	for _, f := range frames {
		switch f.part.Type {
		case "text-start":
			text = ""
		case "text-delta":
			text += *f.part.Text
		case "text-end":
			out = append(out, text)
		}
	}
	return out
}

func TestTextBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		script []step
		want   []string // the events
		stream []string // nil: the same
	}{
		{"deltas add up", []step{writeText("a"), writeText("b"), endText("")}, []string{"ab"}, nil},
		{"a final text that is the same", []step{writeText("a"), writeText("b"), endText("ab")}, []string{"ab"}, nil},
		{"a final text that is longer", []step{writeText("a"), endText("abc")}, []string{"abc"}, nil},
		{"a final text wins", []step{writeText("a"), endText("xyz")}, []string{"xyz"}, []string{"a"}},
		{"a final text alone", []step{endText("alone")}, []string{"alone"}, nil},
		{"nothing open and no text", []step{endText("")}, nil, nil},
		{
			"a call closes the block",
			[]step{writeText("a"), callTool("c", "ls", `{}`), writeText("b")},
			[]string{"a", "b"},
			nil,
		},
		{
			"a result does not",
			[]step{callTool("c", "ls", `{}`), writeText("a"), toolResult("c", `1`), writeText("b"), endText("ab")},
			[]string{"ab"},
			nil,
		},
		{
			"reasoning closes it and is not kept",
			[]step{writeText("a"), reason("hm"), writeText("b")},
			[]string{"a", "b"},
			nil,
		},
		{"a character cut between deltas", []step{writeText("\xe2\x9c"), writeText("\x93 ok")}, []string{"✓ ok"}, nil},
		{"characters that cannot be stored", []step{writeText("a\x00b\xffc")}, []string{"a\uFFFDb\uFFFDc"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).start()
			frames := r.turn("s1", "t1", c.script...)
			wantLines(t, "events", r.texts("s1"), c.want)
			if c.stream == nil {
				c.stream = c.want
			}
			wantLines(t, "stream", streamed(frames), c.stream)
		})
	}
}

func TestLongTextIsSplitBetweenCharacters(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é<✓\"\x01", 100<<10)
	for _, c := range []struct {
		name   string
		script []step
	}{
		{"in one delta", []step{writeText(long)}},
		{"as a final text", []step{endText(long)}},
		{"with a final text that repeats it", []step{writeText(long), endText(long)}},
		{"with a final text that goes on", []step{writeText(long[:300<<10]), endText(long)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).start()
			// A queue of 256 frames is a live reader's; this one comes later.
			r.agent.script(c.script...)
			r.startGrant(r.announce("s1", "t1"))
			texts := r.texts("s1")
			r.until("the turn's end", func() bool {
				texts = r.texts("s1")
				return strings.Contains(strings.Join(summary(r.broker.of("s1")), "\n"), " finish stop")
			})
			if len(texts) < 4 || strings.Join(texts, "") != strings.ToValidUTF8(long, "\uFFFD") {
				t.Errorf("%d events, %d bytes of %d", len(texts), len(strings.Join(texts, "")), len(long))
			}
			for _, text := range texts {
				if len(text) > 256<<10 || !utf8.ValidString(text) {
					t.Errorf("an event of %d bytes", len(text))
				}
			}
			for _, q := range r.broker.seen() {
				if len(q.body) > 1<<20 {
					t.Errorf("a request of %d bytes", len(q.body))
				}
			}
		})
	}
}

func TestLongInputAndOutputAreCut(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	big := `{"text":"` + strings.Repeat("é", 200<<10) + `"}`
	frames := r.turn("s1", "t1", callTool("c1", "write", big), toolResult("c1", `"`+strings.Repeat(`\"`, 200<<10)+`"`))
	r.delivered()
	for _, e := range r.broker.of("s1") {
		value := e.Input
		if e.Type == protocol.EventToolResult {
			value = e.Output
		} else if e.Type != protocol.EventToolCall {
			continue
		}
		if !e.Truncated || len(value) > 256<<10 || !json.Valid(value) || value[0] != '"' {
			t.Errorf("%s: truncated %v, %d bytes", e.Type, e.Truncated, len(value))
		}
	}
	if len(frames[0].part.Input) > 256<<10 {
		t.Errorf("the part has %d bytes", len(frames[0].part.Input))
	}
}

// PROC-6: neither stream nor journal nor webhook ever has a known secret.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	secrets := []string{"sk-live-12345", "sk-live-12345-and-more", `quo"ted\secret`, "short"}
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Secrets = func(string) []string { return secrets } }
	r.start()
	var script []step
	for _, s := range secrets[:3] {
		for i := range s {
			script = append(script, writeText(s[i:i+1]))
		}
		script = append(script, writeText(" then "))
	}
	quoted, _ := json.Marshal(secrets[2])
	script = append(script, writeText("sk-live-1"), endText(""), reason("sk-live"), reason("-12345!"),
		callTool("c1", "env", `{"k":`+string(quoted)+`,"sk-live-12345":1}`), toolResult("c1", `"TOKEN=sk-live-12345\n"`),
		func(ctx context.Context, out agenthost.Output) error {
			out.Notice("info", "sk-live-12345")
			_, err := out.Ask(ctx, agenthost.Question{
				Prompt: "sk-live-12345?", Default: "sk-live-12345", Options: []string{"sk-live-12345"}, Timeout: time.Millisecond,
			})
			return err
		})
	r.agent.ends(agenthost.Outcome{})
	r.agent.script(script...)
	r.agent.ends(agenthost.Outcome{FinishReason: "error", Err: "bad key sk-live-12345"})
	frames := r.read(r.startGrant(r.announce("s1", "t1")))
	r.delivered()
	all := strings.Join(bodies(frames), "\n")
	for _, q := range r.broker.seen() {
		all += string(q.body)
	}
	for _, s := range []string{"sk-live-12345", `quo\"ted`, "and-more"} {
		if strings.Contains(all, s) {
			t.Errorf("%q is in\n%s", s, all)
		}
	}
	wantLines(t, "text", r.texts("s1"), []string{"[redacted] then [redacted] then [redacted] then sk-live-1"})
}

func TestAHundredSessionsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	var script []step
	for i := range 10 {
		script = append(script, writeText(fmt.Sprint("piece ", i)), callTool(fmt.Sprint("c", i), "ls", `{}`),
			toolResult(fmt.Sprint("c", i), `[]`))
	}
	r.agent.script(script...)
	done := make(chan string, 100)
	for i := range cap(done) {
		go func() {
			id := fmt.Sprint("s", i)
			res, err := r.host.Open(t.Context(), &protocol.OpenSessionRequest{
				SessionID: id, WebhookURL: r.broker.url(), Cursor: &protocol.Cursor{}, Turn: &protocol.AnnouncedTurn{ID: "t1"},
			}, agenthost.Keys{})
			if err == nil {
				var stream *agenthost.Stream
				stream, err = r.host.Start(t.Context(), agenthost.Grant{SessionID: id, TurnID: "t1"},
					&protocol.PromptRequest{Prompt: "go"})
				stream.Close()
			}
			if err != nil || res.Token == "" {
				t.Errorf("%s: %v", id, err)
			}
			done <- id
		}()
	}
	for range cap(done) {
		<-done
	}
	r.until("all turns end", func() bool {
		status, err := r.host.Status(t.Context())
		return err == nil && status.OpenTurns == 0
	})
	r.delivered()
	want := summary(r.broker.of("s0"))
	for i := range cap(done) {
		if got := summary(r.broker.of(fmt.Sprint("s", i))); len(got) != 33 || !slices.Equal(got, want) {
			t.Fatalf("session %d has %d events: %q", i, len(got), got)
		}
	}
}
