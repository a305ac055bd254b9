package agenthost_test

import (
	"slices"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// headless opens a session without a broker.
func (r *rig) headless(req *agenthost.HeadlessRequest) (id string, grant agenthost.Grant) {
	r.Helper()
	opened, err := r.host.OpenHeadless(r.Context(), req)
	if err != nil {
		r.Fatalf("open: %v", err)
	}
	return opened.SessionID, r.grant(opened.SessionID, opened.Token)
}

// linesOf returns the lines of a turn that an input starts.
func (r *rig) linesOf(g agenthost.Grant, input string) []protocol.Line {
	r.Helper()
	session := g.SessionID
	stream, err := r.host.Attach(r.Context(), session, "", true)
	if err != nil {
		r.Fatalf("attach: %v", err)
	}
	defer stream.Close()
	r.input(g, input)
	translator := r.host.Lines(session)
	var lines []protocol.Line
	for {
		var data []byte
		if len(stream.Backlog) > 0 {
			data, stream.Backlog = stream.Backlog[0], stream.Backlog[1:]
		} else if data, err = stream.Live.Next(r.Context()); err != nil {
			r.Fatalf("after %v: %v", words(lines), err)
		}
		lines = append(lines, translator.Translate(r.Context(), data)...)
		if n := len(lines); n > 0 && lines[n-1].EndsTurn() {
			return lines
		}
	}
}

func words(lines []protocol.Line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Type
		switch {
		case l.State != "":
			out[i] += " " + l.State + l.Reason
		case l.Content != nil:
			out[i] += " " + *l.Content
		case l.Type == protocol.LineInput:
			out[i] += " " + *l.Text
		}
	}
	return out
}

func (r *rig) input(g agenthost.Grant, text string) {
	r.Helper()
	if err := r.host.Input(r.Context(), g, &protocol.PromptRequest{Prompt: text}); err != nil {
		r.Fatalf("input: %v", err)
	}
}

func TestAHeadlessSessionOutlivesItsHost(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	id, grant := r.headless(&agenthost.HeadlessRequest{Instructions: "be kind"})
	r.agent.script(writeText("hello"), ask("colour?"))
	r.input(grant, "hi")
	r.until("the question is open", func() bool { return r.host.Sessions()[0].State == "waiting" })

	r.open(r.crash())
	r.run()
	if got := r.host.Sessions()[0]; got.State != "idle" || !got.Headless {
		t.Errorf("after the restart: %+v", got)
	}
	r.agent.script(writeText("again"))
	r.linesOf(grant, "once more")
	history, err := r.host.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"input hi", "message hello", "ask", "status", "state waiting_for_inputerror",
		"input once more", "message again", "state waiting_for_inputdone",
	}
	if got := words(history); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if status, err := r.host.Status(t.Context()); err != nil || status.Unacknowledged != 0 || len(r.broker.seen()) != 0 {
		t.Errorf("something goes to a broker: %+v, %v, %d requests", status, err, len(r.broker.seen()))
	}
}

func TestAnUnansweredQuestionExpires(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.InteractionTimeout = 20 * time.Millisecond }
	r.start()
	_, grant := r.headless(&agenthost.HeadlessRequest{})
	r.agent.script(ask("colour?"))
	got := words(r.linesOf(grant, "hi"))
	want := []string{
		"input hi", "state thinking", "ask", "state waiting_for_inputasked", "resolved", "status", "state thinking",
		"chunk You said nothing", "message You said nothing", "state waiting_for_inputdone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAFinalTextWinsOverItsPieces(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	_, grant := r.headless(&agenthost.HeadlessRequest{})
	r.agent.script(writeText("helo"), endText("hello"))
	want := []string{"input hi", "state thinking", "chunk helo", "message hello", "state waiting_for_inputdone"}
	if got := words(r.linesOf(grant, "hi")); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestOnlyOneInputRunsAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	_, grant := r.headless(&agenthost.HeadlessRequest{})
	r.agent.script(forever)
	r.input(grant, "hi")
	for name, c := range map[string]struct {
		grant agenthost.Grant
		req   protocol.PromptRequest
		code  protocol.Code
	}{
		"while one runs":  {grant, protocol.PromptRequest{Prompt: "x"}, protocol.CodeBusy},
		"nothing":         {grant, protocol.PromptRequest{Prompt: " \n"}, protocol.CodeInvalid},
		"another session": {agenthost.Grant{SessionID: "x"}, protocol.PromptRequest{Prompt: "x"}, protocol.CodeNotFound},
	} {
		if err := r.host.Input(t.Context(), c.grant, &c.req); protocol.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.host.Interrupt(t.Context(), grant.SessionID, ""); err != nil {
		t.Fatal(err)
	}
}
