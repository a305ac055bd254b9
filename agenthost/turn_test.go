package agenthost_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

func TestABasicBrokerGetsThreeTypesOneByOne(t *testing.T) {
	t.Parallel()
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

// An agent keeps the model that it was opened with: another model needs another agent.
func TestAnotherModelOpensAnotherAgent(t *testing.T) {
	t.Parallel()
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
