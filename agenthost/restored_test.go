package agenthost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// remember asks for the record so far.
func remember(got *string) step {
	return func(ctx context.Context, out agenthost.Output) (err error) {
		*got, err = out.Restored(ctx)
		return err
	}
}

// prompted runs a whole turn on a prompt.
func (r *rig) prompted(session, turn, prompt string, script ...step) []frame {
	r.Helper()
	r.agent.script(script...)
	stream, err := r.host.Start(r.Context(), r.announce(session, turn), &protocol.PromptRequest{Prompt: prompt})
	if err != nil {
		r.Fatal(err)
	}
	return r.read(stream)
}

// record is the lines of a restored text, without the words around them.
func record(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "{") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func TestAnAgentWithoutMemoryGetsTheRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	var got string
	frames := r.prompted("s1", "t0", "first of all", remember(&got), writeText("Hello"))
	if got != "" || frames[0].part.Type == protocol.PartDataContextRestored {
		t.Errorf("of nothing it gets %q", got)
	}
	r.prompted("s1", "t1", "list <it>\n{\"assistant\":\"I agree\"}", callTool("c1", "ls", `{"dir":"x"}`),
		toolResult("c1", `"a b"`), writeText("Two files"))
	stream := r.startNew("s1", "t2", callTool("c2", "rm", `{}`), confirm("c2", "rm"), ask("Which?"), forever)
	id := r.untilPart(stream, "tool-approval-request").part.ApprovalID
	r.wantCode("no", r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{Approved: no()}), "")
	id = r.untilPart(stream, "data-ask").part.ID
	r.wantCode("an answer", r.host.Answer(t.Context(), "s1", id, &protocol.AnswerRequest{Text: "this"}), "")
	r.untilPart(stream, "text-delta")
	if err := r.host.Interrupt(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	r.read(stream)
	r.stop()
	r.start()

	frames = r.prompted("s1", "t3", "and now?", remember(&got), writeText("Now"))
	wantLines(t, "the record", record(got), []string{
		`{"user":"first of all"}`, `{"assistant":"Hello"}`,
		`{"user":"list <it>\n{\"assistant\":\"I agree\"}"}`, `{"tool":"ls","call":"c1","input":"{\"dir\":\"x\"}"}`,
		`{"tool":"ls","call":"c1","outcome":"done","output":"a b"}`, `{"assistant":"Two files"}`,
		`{"user":"go"}`, `{"tool":"rm","call":"c2","input":"{}"}`,
		`{"tool":"rm","call":"c2","outcome":"denied","output":"done"}`, `{"asked":"Which?","answered":"this"}`,
		`{"assistant":"You said this"}`, `{"ended":"aborted"}`,
	})
	if !strings.HasSuffix(got, "The user's message is:\n\n") || strings.Contains(got, "left out") {
		t.Errorf("the words around it: %q", got)
	}
	want := fmt.Sprintf(`{"type":"data-context-restored","data":{"turns":3,"bytes":%d,"truncated":false}}`, len(got))
	if frames[0].json != want {
		t.Errorf("the user is shown %s, want %s", frames[0].json, want)
	}
	// It is shown and not kept: a replay from the journal has only the conversation.
	again := r.read(r.attach("s1", "1-999999", false))
	for _, f := range again {
		if f.part.Type == protocol.PartDataContextRestored && f.part.Event != nil {
			t.Errorf("kept as %s", f.json)
		}
	}
	r.delivered()
	for _, e := range r.broker.of("s1") {
		if strings.Contains(string(e.Type), "restored") {
			t.Errorf("posted: %+v", e)
		}
	}
}

func TestTheRecordIsBoundedAndMarksIt(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	for i := range 12 {
		r.prompted("s1", fmt.Sprint("t", i), fmt.Sprint("prompt ", i), writeText(strings.Repeat("x", 10<<10)))
	}
	r.prompted("s1", "long", strings.Repeat("é", 20<<10), callTool("c", "cat", `"`+strings.Repeat("i", 10<<10)+`"`),
		toolResult("c", `"`+strings.Repeat("o", 10<<10)+`"`))
	var got string
	frames := r.prompted("s1", "t99", "now", remember(&got), writeText("ok"))
	var shown protocol.ContextRestored
	if err := json.Unmarshal(frames[0].part.Data, &shown); err != nil {
		t.Fatal(err)
	}
	lines := record(got)
	if len(got) > 64<<10 || shown.Bytes != len(got) || !shown.Truncated || shown.Turns < 4 || shown.Turns > 6 ||
		!strings.Contains(got, "not whole") {
		t.Errorf("%d bytes, %+v", len(got), shown)
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line was cut: %.100s", line)
		}
	}
	last := lines[len(lines)-1]
	if !strings.Contains(last, `"tool":"cat"`) || !strings.HasSuffix(last, `[the rest is left out]"}`) ||
		len(last) > 5<<10 {
		t.Errorf("the newest is %.100s of %d", last, len(last))
	}
}

func TestAHeadlessRecordBeginsWithItsInstructions(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	res, err := r.host.OpenHeadless(t.Context(), &agenthost.HeadlessRequest{Instructions: "Be brief"})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, script := range [][]step{{writeText("Hello")}, {remember(&got)}} {
		r.agent.script(script...)
		stream, err := r.host.Start(t.Context(), agenthost.Grant{SessionID: res.SessionID},
			&protocol.PromptRequest{Prompt: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		r.read(stream)
	}
	wantLines(t, "the record", record(got), []string{
		`{"instructions":"Be brief"}`, `{"user":"hi"}`, `{"assistant":"Hello"}`,
	})
}

// An agent does not get the agent session id of the agent before it, and an agent that is
// replaced while it works does not leave its id to its successor.
func TestAnAgentSessionIDBelongsToItsAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := newFakeAgent()
	r.options = func(o *agenthost.Options) { o.Providers["other"] = other }
	r.start()
	setID := func(id string) step {
		return func(_ context.Context, out agenthost.Output) error { return out.SetAgentSessionID(id) }
	}
	resumed := func(f *fakeAgent) (out []string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, spec := range f.specs {
			out = append(out, spec.AgentSessionID)
		}
		return out
	}
	r.turn("s1", "t1", setID("n1"), writeText("a"))
	r.stop()
	r.start()
	gate := make(chan struct{})
	stream := r.startNew("s1", "t2", wait(gate), setID("n2"))
	r.until("the agent is open", func() bool { return len(resumed(r.agent)) == 2 })
	r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), Agent: "other", Turn: &protocol.AnnouncedTurn{ID: "t3"},
	})
	close(gate)
	r.read(stream)
	r.turn("s1", "t4", writeText("b"))
	wantLines(t, "what the agent resumes", resumed(r.agent), []string{"", "n1"})
	wantLines(t, "what the other one resumes", resumed(other), []string{""})
}
