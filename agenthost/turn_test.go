package agenthost_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// summary writes events as type and the member that distinguishes them.
func summary(events []protocol.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		var detail string
		switch e.Type {
		case protocol.EventText:
			detail = *e.Text
		case protocol.EventToolCall, protocol.EventToolResult:
			detail = e.ToolCallID
			if e.Denied {
				detail += " denied"
			}
		case protocol.EventFinish:
			detail = string(e.FinishReason) + " " + e.Reason
		case protocol.EventStatus:
			detail = string(e.Status) + " " + e.Reason
		case protocol.EventInteraction:
			detail = string(e.Kind) + " " + string(e.State)
			if e.Answer != nil {
				detail += " " + e.Answer.Reason + e.Answer.Text
			}
		default:
			detail = e.Message + e.Reason
		}
		out[i] = fmt.Sprintf("%d/%d %s %s %s", e.Epoch, e.Seq, e.TurnID, e.Type, detail)
	}
	return out
}

func wantLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}

func TestATurnIsStreamedAndItsEventsReachTheBroker(t *testing.T) {
	r := newRig(t).start()
	frames := r.turn("s1", "t1", writeText("Hel"), writeText("lo"), callTool("c1", "ls", `{"p":"."}`),
		toolResult("c1", `["a"]`), writeText("Bye"))
	wantLines(t, "parts", types(frames), []string{
		"text-start", "text-delta", "text-delta", "text-end", "tool-call", "tool-result",
		"text-start", "text-delta", "text-end", "finish",
	})
	r.delivered()
	wantLines(t, "events", summary(r.broker.of("s1")), []string{
		"1/1 t1 status busy ", "1/2 t1 text Hello", "1/3 t1 tool-call c1", "1/4 t1 tool-result c1", "1/5 t1 text Bye",
		"1/6 t1 finish stop ", "1/7 t1 status idle ",
	})
}

// startNew announces a turn of a session and starts it with a script of the agent.
func (r *rig) startNew(session, turn string, script ...step) *agenthost.Stream {
	r.Helper()
	r.agent.script(script...)
	return r.startGrant(r.announce(session, turn))
}

func (r *rig) startGrant(g agenthost.Grant) *agenthost.Stream {
	r.Helper()
	stream, err := r.host.Start(r.Context(), g, &protocol.PromptRequest{Prompt: "go"})
	if err != nil {
		r.Fatalf("start: %v", err)
	}
	r.Cleanup(stream.Close)
	return stream
}

func (r *rig) wantCode(what string, err error, code protocol.Code) {
	r.Helper()
	if protocol.CodeOf(err) != code {
		r.Errorf("%s: %v (%s), want %s", what, err, protocol.CodeOf(err), code)
	}
}

func TestEveryTurnEndsInExactlyOneTerminalPart(t *testing.T) {
	for _, c := range []struct {
		name   string
		end    agenthost.Outcome
		parts  []string
		last   string
		events []string
	}{
		{
			"stop is the default",
			agenthost.Outcome{Usage: []byte(`{"inputTokens":3}`)},
			[]string{"text-start", "text-delta", "text-end", "finish"},
			`{"type":"finish","finishReason":"stop","totalUsage":{"inputTokens":3},"event":{"id":"?","seq":3,"turnId":"t1"}}`,
			[]string{"1/1 t1 status busy ", "1/2 t1 text hi", "1/3 t1 finish stop ", "1/4 t1 status idle "},
		},
		{
			"an error has an error event before its finish",
			agenthost.Outcome{FinishReason: "error", Reason: "agent-exited", Err: "boom"},
			[]string{"text-start", "text-delta", "text-end", "error"},
			`{"type":"error","error":"boom","event":{"id":"?","seq":4,"turnId":"t1"}}`,
			[]string{
				"1/1 t1 status busy ", "1/2 t1 text hi", "1/3 t1 error boom",
				"1/4 t1 finish error agent-exited", "1/5 t1 status idle ",
			},
		},
		{
			"aborted",
			agenthost.Outcome{FinishReason: "other", Reason: "aborted"},
			[]string{"text-start", "text-delta", "text-end", "abort"},
			`{"type":"abort","reason":"aborted","event":{"id":"?","seq":3,"turnId":"t1"}}`,
			[]string{"1/1 t1 status busy ", "1/2 t1 text hi", "1/3 t1 finish other aborted", "1/4 t1 status idle "},
		},
		{
			"an unknown finish reason is other",
			agenthost.Outcome{FinishReason: "tired"},
			[]string{"text-start", "text-delta", "text-end", "finish"},
			`{"type":"finish","finishReason":"other","rawFinishReason":"tired","totalUsage":{},"event":{"id":"?","seq":3,"turnId":"t1"}}`,
			[]string{"1/1 t1 status busy ", "1/2 t1 text hi", "1/3 t1 finish other tired", "1/4 t1 status idle "},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t).start()
			r.agent.script(writeText("hi"))
			r.agent.ends(c.end)
			frames := r.read(r.startGrant(r.announce("s1", "t1")))
			wantLines(t, "parts", types(frames), c.parts)
			last := frames[len(frames)-1]
			if got := strings.Replace(last.json, last.part.Event.ID, "?", 1); got != c.last {
				t.Errorf("terminal part\n got  %s\n want %s", got, c.last)
			}
			r.delivered()
			events := r.broker.of("s1")
			wantLines(t, "events", summary(events), c.events)
			if finish := events[len(events)-2]; finish.EventID != last.part.Event.ID {
				t.Errorf("the terminal part carries event %s, the finish event is %s", last.part.Event.ID, finish.EventID)
			}
		})
	}
}

func TestTurnRules(t *testing.T) {
	r := newRig(t).start()
	ctx := t.Context()
	gate := make(chan struct{})
	r.agent.script(writeText("one"), wait(gate))
	first := r.announce("s1", "t1")
	stream := r.startGrant(first)
	r.readN(stream, 2)

	second := r.announce("s1", "t2")
	_, err := r.host.Start(ctx, second, &protocol.PromptRequest{Prompt: "x"})
	r.wantCode("another turn while one is open", err, protocol.CodeBusy)

	again := r.startGrant(first)
	if got := r.readN(again, 2); got[1].json != `{"type":"text-delta","id":"`+got[0].part.ID+`","text":"one"}` {
		t.Errorf("a second POST replays: %s", got[1].json)
	}
	third := r.announce("s1", "t3")
	close(gate)
	r.read(stream)
	r.read(again)

	if got := types(r.read(r.startGrant(first))); !slices.Equal(got, []string{
		"text-start", "text-delta", "text-end", "finish",
	}) {
		t.Errorf("a POST for a finished turn replays it: %q", got)
	}
	_, err = r.host.Start(ctx, second, &protocol.PromptRequest{Prompt: "x"})
	r.wantCode("a superseded turn", err, protocol.CodeNoTurn)
	_, err = r.host.Start(ctx, third, &protocol.PromptRequest{})
	r.wantCode("no prompt", err, protocol.CodeInvalid)
	_, err = r.host.Start(ctx, third, &protocol.PromptRequest{Prompt: "x", WhenBusy: "panic"})
	r.wantCode("an unknown whenBusy", err, protocol.CodeInvalid)
	r.read(r.startGrant(third))

	attach := r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), Attach: true, Cursor: r.broker.cursorOf("s1"),
	})
	_, err = r.host.Start(ctx, r.grant("s1", attach.Token), &protocol.PromptRequest{Prompt: "x"})
	r.wantCode("an attach token", err, protocol.CodeNoTurn)

	r.delivered()
	var finishes []string
	for _, line := range summary(r.broker.of("s1")) {
		if strings.Contains(line, " finish ") {
			finishes = append(finishes, line[strings.Index(line, " ")+1:])
		}
	}
	wantLines(t, "finishes", finishes, []string{"t2 finish other not-started", "t1 finish stop ", "t3 finish stop "})
}

func TestAPromptCanBeBound(t *testing.T) {
	r := newRig(t).start()
	sum := sha256.Sum256([]byte("the message ✓"))
	res := r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), Cursor: &protocol.Cursor{},
		Turn: &protocol.AnnouncedTurn{ID: "t1", PromptSHA256: hex.EncodeToString(sum[:])},
	})
	g := r.grant("s1", res.Token)
	_, err := r.host.Start(t.Context(), g, &protocol.PromptRequest{Prompt: "another"})
	r.wantCode("another prompt", err, protocol.CodePromptMismatch)
	stream, err := r.host.Start(t.Context(), g, &protocol.PromptRequest{Prompt: "the message ✓"})
	if err != nil {
		t.Fatal(err)
	}
	r.read(stream)
}

func TestOpenAnswersWhereTheSessionStands(t *testing.T) {
	r := newRig(t).start()
	open := func() *protocol.OpenSessionResponse {
		return r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", Cursor: r.broker.cursorOf("s1"), Attach: true,
		})
	}
	got := open()
	if got.OpenTurn != "" || got.StreamCursor != nil || got.Status != protocol.StatusNone ||
		*got.Cursor != (protocol.Cursor{Epoch: 1}) ||
		got.StreamURL != "http://host.example/stream/s1" ||
		!slices.Equal(got.Capabilities,
			[]string{"events", "resume", "interactions", "session-keys", "credentials", "webhook-signatures"}) {
		t.Errorf("new session: %+v", got)
	}
	gate := make(chan struct{})
	stream := r.startNew("s1", "t1", writeText("hi"), wait(gate))
	r.readN(stream, 2)
	got = open()
	if got.OpenTurn != "t1" || got.StreamCursor == nil || *got.StreamCursor != "1-0" || got.Status != protocol.StatusBusy {
		t.Errorf("busy session: %+v", got)
	}
	resumed, err := r.host.Attach(t.Context(), "s1", *got.StreamCursor, false)
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "from the stream cursor", types(r.readN(resumed, 3)), []string{"data-resume", "text-start", "text-delta"})
	resumed.Close()
	close(gate)
	r.read(stream)

	_, err = r.host.Open(t.Context(),
		&protocol.OpenSessionRequest{SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-2"}, agenthost.Keys{})
	r.wantCode("another broker", err, protocol.CodeForeignBroker)
	for name, req := range map[string]*protocol.OpenSessionRequest{
		"no session id":     {WebhookURL: r.broker.url()},
		"no webhook":        {SessionID: "s1"},
		"a webhook by file": {SessionID: "s1", WebhookURL: "file:///etc/passwd"},
		"an unknown agent":  {SessionID: "s1", WebhookURL: r.broker.url(), Agent: "hal"},
		"a turn without id": {SessionID: "s1", WebhookURL: r.broker.url(), Turn: &protocol.AnnouncedTurn{}},
	} {
		_, err := r.host.Open(t.Context(), req, agenthost.Keys{})
		r.wantCode(name, err, protocol.CodeInvalid)
	}
}

func TestTokens(t *testing.T) {
	now := time.Now()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.Now = func() time.Time { return now } }
	r.start()
	a := r.openSession(&protocol.OpenSessionRequest{SessionID: "a", WebhookURL: r.broker.url(), Attach: true})
	r.openSession(&protocol.OpenSessionRequest{SessionID: "b", WebhookURL: r.broker.url(), Attach: true})
	for _, c := range []struct {
		name, session, token string
		code                 protocol.Code
	}{
		{"its own session", "a", a.Token, ""},
		{"another session", "b", a.Token, protocol.CodeUnauthorized},
		{"no such session", "c", a.Token, protocol.CodeNotFound},
		{"no token", "a", "", protocol.CodeUnauthorized},
		{"a made-up token", "a", "bhs_AAAA", protocol.CodeUnauthorized},
	} {
		_, err := r.host.Authorize(t.Context(), c.session, c.token)
		r.wantCode(c.name, err, c.code)
	}
	now = now.Add(10*time.Minute - time.Second)
	r.grant("a", a.Token)
	now = now.Add(time.Second)
	_, err := r.host.Authorize(t.Context(), "a", a.Token)
	r.wantCode("after ten minutes", err, protocol.CodeUnauthorized)
}

func TestRevokeDropsTokensAndCutsStreams(t *testing.T) {
	r := newRig(t).start()
	gate := make(chan struct{})
	r.agent.script(writeText("x"), wait(gate), writeText("y"))
	res := r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), Cursor: &protocol.Cursor{}, Turn: &protocol.AnnouncedTurn{ID: "t1"},
	})
	stream := r.startGrant(r.grant("s1", res.Token))
	follow, err := r.host.Attach(t.Context(), "s1", "", true)
	if err != nil {
		t.Fatal(err)
	}
	r.readN(stream, 2)
	if err := r.host.Revoke(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	r.read(stream)
	r.read(follow)
	_, err = r.host.Authorize(t.Context(), "s1", res.Token)
	r.wantCode("a revoked token", err, protocol.CodeUnauthorized)
	later, err := r.host.Attach(t.Context(), "s1", "", false)
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	if got := types(r.read(later)); got[len(got)-1] != "finish" {
		t.Errorf("the turn goes on: %q", got)
	}
}

func TestABasicBrokerGetsThreeTypesOneByOne(t *testing.T) {
	r := newRig(t).start()
	r.broker.next(slices.Repeat([]func(http.ResponseWriter, request){func(w http.ResponseWriter, _ request) {
		_, _ = w.Write([]byte("ok"))
	}}, 20)...)
	res := r.openSession(&protocol.OpenSessionRequest{SessionID: "s1", WebhookURL: r.broker.url()})
	r.agent.script(writeText("hi"), callTool("c1", "ls", `{}`), toolResult("c1", `1`))
	g := r.grant("s1", res.Token)
	r.read(r.startGrant(g))
	r.read(r.startGrant(g)) // each POST starts a turn
	r.delivered()
	var got []string
	for _, req := range r.broker.seen() {
		if len(req.events) != 1 {
			t.Errorf("a batch: %s", req.body)
		}
		got = append(got, string(req.events[0].Type))
	}
	wantLines(t, "posted", got, []string{"text", "tool-call", "tool-result", "text", "tool-call", "tool-result"})
}

func TestDeleteEndsEverything(t *testing.T) {
	r := newRig(t).start()
	stream := r.startNew("s1", "t1", writeText("x"), forever)
	r.readN(stream, 2)
	if _, err := r.host.Delete(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if got := types(r.read(stream)); !slices.Equal(got, []string{"text-end", "abort"}) {
		t.Errorf("the stream's end: %q", got)
	}
	_, err := r.host.Attach(t.Context(), "s1", "", false)
	r.wantCode("attach", err, protocol.CodeNotFound)
	_, err = r.host.Events(t.Context(), "s1", agenthost.EventsQuery{After: 0, Limit: 0})
	r.wantCode("events", err, protocol.CodeNotFound)
	got := r.openSession(&protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), Cursor: &protocol.Cursor{Epoch: 1, Seq: 9},
	})
	if *got.Cursor != (protocol.Cursor{Epoch: 2}) {
		t.Errorf("opened again: %v", got.Cursor)
	}
}

func TestEventsForReconciliation(t *testing.T) {
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("a"), endText(""), writeText("b"))
	r.delivered()
	one, two := int64(1), int64(2)
	for _, c := range []struct {
		name        string
		epoch       *int64
		after       int64
		limit       int
		first, next int64
		n           int
	}{
		{"the current epoch", nil, 0, 0, 1, 5, 5},
		{"after a seq", &one, 2, 2, 3, 4, 2},
		{"another epoch begins at the first", &two, 2, 1, 1, 1, 1},
		{"a limit beyond all bounds", &one, 0, 1 << 30, 1, 5, 5},
		{"the end", &one, 5, 10, 0, 5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.host.Events(t.Context(), "s1", agenthost.EventsQuery{Epoch: c.epoch, After: c.after, Limit: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			if got.Epoch != 1 || len(got.Events) != c.n || got.NextAfter != c.next || got.Status != protocol.StatusIdle {
				t.Errorf("got %+v", got)
			}
			if c.n > 0 && parseEvent(got.Events[0]).Seq != c.first {
				t.Errorf("begins at %s", got.Events[0])
			}
		})
	}
}

// An agent keeps the model that it was opened with: another model needs another agent.
func TestAnotherModelOpensAnotherAgent(t *testing.T) {
	r := newRig(t)
	r.start()
	for i, model := range []string{"small", "small", "large", ""} {
		turn := fmt.Sprintf("t%d", i+1)
		r.agent.script(writeText("a"))
		res := r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), Model: model, Turn: &protocol.AnnouncedTurn{ID: turn},
		})
		stream, err := r.host.Start(r.Context(), r.grant("s1", res.Token), &protocol.PromptRequest{Prompt: "go"})
		if err != nil {
			t.Fatal(err)
		}
		r.read(stream)
	}
	r.agent.mu.Lock()
	defer r.agent.mu.Unlock()
	var opened []string
	for _, spec := range r.agent.specs {
		opened = append(opened, spec.Model)
	}
	wantLines(t, "models of the opened agents", opened, []string{"small", "large"})
}
