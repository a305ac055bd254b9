package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// tape makes the entries of a recording.
type tape struct {
	entries []Entry
}

func (p *tape) part(n int) *tape {
	p.entries = append(p.entries, Entry{Part: n, At: begin})
	return p
}

func (p *tape) input(session string, in core.Input) *tape { return p.refused(session, in, "") }

// refused adds an input that changed nothing.
func (p *tape) refused(session string, in core.Input, failure string) *tape {
	n := len(p.entries) + 1
	r := core.Recorded{
		At: begin.Add(time.Duration(n) * time.Second), ID: fmt.Sprintf("00000000-0000-7000-8000-0000%04x0000", n),
		Input: in, Error: failure,
	}
	p.entries = append(p.entries, Entry{File: "r.jsonl", Line: n, At: r.At, Session: session, Input: r})
	return p
}

// results returns for each input what replay makes of it.
func (p *tape) results() []Result {
	var replay Replay
	var out []Result
	for _, e := range p.entries {
		if result, isInput := replay.Apply(e); isInput {
			out = append(out, result)
		}
	}
	return out
}

// short is a result in a few words.
func short(r *Result) string {
	switch {
	case r.Missing:
		return "missing"
	case r.Differs != "":
		return "differs: " + r.Differs
	case r.Step == nil:
		return "nothing"
	}
	var out []string
	for i := range r.Step.Rows.Events {
		out = append(out, string(r.Step.Rows.Events[i].Type))
	}
	return strings.TrimSpace("step " + strings.Join(out, " "))
}

func TestReplay(t *testing.T) {
	t.Parallel()
	prompted := core.Prompted{TurnID: "t1", New: true, Request: protocol.PromptRequest{Prompt: "go"}}
	recovered := core.Recovered{
		Loaded: core.Loaded{Session: core.SessionRecord{ID: "s1", Outbox: core.OutboxNone, OffsetReserved: 9}},
	}
	for _, c := range []struct {
		name string
		tape *tape
		want []string
	}{
		{
			"a session from its beginning", new(tape).part(1).input("s1", headless("s1")).input("s1", prompted),
			[]string{"step", "step input status"},
		},
		{
			"sessions do not mix",
			new(tape).part(1).input("s1", headless("s1")).input("s2", headless("s2")).input("s2", prompted).input("s1",
				core.Idled{}),
			[]string{"step", "step", "step input status", "step"},
		},
		{
			"the beginning was rotated away",
			new(tape).part(3).input("s1", headless("s1")).input("s1", prompted).input("s1", recovered).input("s1", prompted),
			[]string{"missing", "missing", "step", "step input status"},
		},
		{
			"an input before the session's beginning", new(tape).part(1).input("s1", core.Idled{}).input("s1", headless("s1")),
			[]string{"missing", "step"},
		},
		{
			"a file that continues the run", new(tape).part(1).input("s1", headless("s1")).part(2).input("s1", prompted),
			[]string{"step", "step input status"},
		},
		{
			"a restart forgets the sessions", new(tape).part(1).input("s1", headless("s1")).part(1).input("s1", prompted),
			[]string{"step", "missing"},
		},
		{
			"the replay refuses an input that the host refused",
			new(tape).part(1).input("s1", headless("s1")).input("s1", prompted).refused("s1", prompted, "A turn is open"),
			[]string{"step", "step input status", "nothing"},
		},
		{
			"a step that could not be written",
			new(tape).part(1).input("s1", headless("s1")).refused("s1", prompted, "the disk is full").input("s1", prompted),
			[]string{"step", "nothing", "step input status"},
		},
		{
			"the replay refuses an input that the host applied",
			new(tape).part(1).input("s1", headless("s1")).input("s1", prompted).input("s1", prompted),
			[]string{"step", "step input status", "differs: the host applied the input; the replay refuses it: A turn is open"},
		},
		{
			"a deleted session's id is used again",
			new(tape).part(1).input("s1", headless("s1")).input("s1", core.Deleted{}).input("s1", headless("s1")),
			[]string{"step", "step", "step"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range c.tape.results() {
				got = append(got, short(&r))
			}
			wantAll(t, got, c.want...)
		})
	}
}

// A line that was changed by hand must not end the program.
func TestADamagedInputIsReported(t *testing.T) {
	t.Parallel()
	opened := core.Opened{Request: protocol.OpenSessionRequest{SessionID: "s1", BrokerID: "b", WebhookURL: "http://b/"}}
	results := new(tape).part(1).input("s1", opened).input("s1", core.DeliveryAccepted{Object: true}).input("s1",
		core.Idled{}).results()
	if got := results[1].Differs; !strings.Contains(got, "the input is damaged: ") {
		t.Errorf("got %q", got)
	}
	if results[2].Step == nil {
		t.Error("the session does not continue")
	}
}

// The host compares a prompt with its announced hash before secrets are masked.
func TestAMaskedPromptIsAccepted(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("use sk-secret"))
	hash := hex.EncodeToString(sum[:])
	opened := core.Opened{
		Request: protocol.OpenSessionRequest{
			SessionID: "s1", BrokerID: "b", WebhookURL: "http://b/", Turn: &protocol.AnnouncedTurn{ID: "t1", PromptSHA256: hash},
		},
		Token: core.TokenRecord{ExpiresAt: begin.Add(time.Hour)},
	}
	second := opened
	second.Request.Turn = &protocol.AnnouncedTurn{ID: "t2", PromptSHA256: hash}
	masked := protocol.PromptRequest{Prompt: "use [redacted]", WhenBusy: protocol.WhenBusyQueue}
	results := new(tape).part(1).
		input("s1", opened).input("s1", core.Prompted{TurnID: "t1", Request: masked}).
		input("s1", second).input("s1", core.Prompted{TurnID: "t2", Request: masked}).results()
	for _, r := range results {
		if r.Step == nil {
			t.Fatalf("%s: %s", core.Kind(r.Input.Input), r.Differs)
		}
	}
	state := &results[3].After
	if state.Turn.Record.PromptSHA256 != hash || state.Queue[0].Record.PromptSHA256 != hash ||
		results[1].Step.Rows.Turns[0].PromptSHA256 != hash {
		t.Errorf("the announced hash is lost: %+v", state)
	}
	refused := new(tape).part(1).input("s1", opened).refused("s1", core.Prompted{TurnID: "t1", Request: masked},
		"This is not the prompt").results()
	if refused[1].Step != nil || refused[1].Differs != "" {
		t.Errorf("a prompt that the host refused: %+v", refused[1])
	}
}

func TestShortForms(t *testing.T) {
	t.Parallel()
	opened := core.Opened{
		Request: protocol.OpenSessionRequest{
			SessionID: "s1", BrokerID: "b", WebhookURL: "http://b/", Turn: &protocol.AnnouncedTurn{ID: "t1"},
		},
		Token: core.TokenRecord{ExpiresAt: begin.Add(time.Hour)},
	}
	results := new(tape).part(1).
		input("s1", opened).
		input("s1", core.Prompted{TurnID: "t1", Request: protocol.PromptRequest{Prompt: "go"}, Journaled: "go"}).
		input("s1", core.Prompted{
			TurnID: "t2", New: true, Request: protocol.PromptRequest{Prompt: "then", WhenBusy: protocol.WhenBusyQueue},
		}).
		input("s1", core.AgentText{TurnID: "t1", Text: "hi"}).
		input("s1", core.AgentAsked{TurnID: "t1", Kind: protocol.KindAsk, Question: core.Question{Prompt: "Colour?"}}).
		input("s1", core.StepFailed{TurnID: "t1", Code: protocol.CodeStorageFull, Message: "full"}).
		input("s1", core.Interrupted{Reason: protocol.ReasonAborted}).
		input("s1", core.TokensRevoked{}).results()
	var got []string
	for i := range results {
		got = append(got, Describe(&results[i].After))
	}
	question := results[4].After.Questions[0].ID
	wantAll(t, got,
		"none, event 1/0, acknowledged 1/0, outbox ok, next frame 1-1, announced t1",
		"busy, event 1/1, acknowledged 1/0, outbox ok, next frame 1-1, turn t1",
		"busy, event 1/1, acknowledged 1/0, outbox ok, next frame 1-1, turn t1, queued t2",
		"busy, event 1/1, acknowledged 1/0, outbox ok, next frame 1-3, turn t1, queued t2",
		"idle (waiting), event 1/4, acknowledged 1/0, outbox ok, next frame 1-5, turn t1, queued t2, question "+question,
		"idle (waiting), event 1/4, acknowledged 1/0, outbox ok, next frame 1-5, turn t1 (full), queued t2, question "+
			question,
		"idle (waiting), event 1/4, acknowledged 1/0, outbox ok, next frame 1-5, turn t1 (aborted), queued t2, question "+
			question,
		"idle (waiting), event 1/4, acknowledged 1/0, outbox ok, next frame 1-5, turn t1 (aborted), queued t2, question "+
			question,
	)
	if before := Describe(&results[0].Before); before != "new" {
		t.Errorf("before: %s", before)
	}
	rows := DescribeRows(&results[1].Step.Rows)
	if !strings.HasPrefix(rows[0], `event 1/1 status {"sessionId":"s1",`) ||
		!slices.Equal(rows[1:], []string{"turn t1 open", "prompt of t1", "session"}) {
		t.Errorf("rows %q", rows)
	}
	wantAll(t, DescribeRows(&results[7].Step.Rows), "delete all tokens", "session")
	if got := DescribeFrame(&results[3].Step.Frames[1]); !strings.HasPrefix(got, `1-2 {"type":"text-delta",`) {
		t.Errorf("frame %s", got)
	}
	wantAll(t, []string{DescribeEffect(core.CutStreams{}), DescribeEffect(core.StopAgent{TurnID: "t1"})}, "CutStreams",
		`StopAgent {"TurnID":"t1"}`)
}

func TestAViewIsJSON(t *testing.T) {
	t.Parallel()
	results := new(tape).part(1).input("s1", headless("s1")).
		input("s1", core.Prompted{TurnID: "t1", New: true, Request: protocol.PromptRequest{Prompt: "go"}}).
		input("s1", core.AgentText{TurnID: "t1", Text: "hi"}).input("s1", core.AgentTextEnded{TurnID: "t1"}).
		input("s2", core.Idled{}).results()
	raw, err := protocol.Marshal(results[3].View())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"file":"r.jsonl","line":5,`, `"kind":"AgentTextEnded","input":{"turnId":"t1","final":""}`,
		`"before":"busy, event 1/2`, `"rows":{"events":[{"cursor":{"epoch":1,"seq":3},`,
		`"type":"text","body":{"sessionId":"s1",`, `"part":{"type":"text-end",`,
		`"frames":[{"id":"1-3","part":{"type":"text-end",`, `"effects":[{"name":"Post","effect":{"Nudge":false}}]`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in\n%s", want, raw)
		}
	}
	if v := results[4].View(); !v.Missing || v.Before != "unknown" || v.Rows != nil {
		t.Errorf("an unknown session: %+v", v)
	}
}
