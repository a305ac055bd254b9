package agenthost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

func byHand(id string) agenthost.TerminalTurn {
	return agenthost.TerminalTurn{ID: id, Prompt: "key top-secret", Items: []agenthost.TerminalItem{
		{Call: &agenthost.ToolCall{ID: "c1", Name: "ls", Input: json.RawMessage(`{"p":"top-secret"}`)}},
		{Result: &agenthost.ToolResult{ID: "c1", Output: json.RawMessage(`"a"`)}},
		{Text: "it is top-secret"},
	}}
}

func TestATurnMadeInATerminalReachesTheBroker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.LocalURL = localURL
		o.Secrets = func(string) []string { return []string{"top-secret"} }
	}
	r.start()
	r.turn("s1", "t1", writeText("a"))
	spec, _ := r.workspaceOf("s1")
	gate := make(chan struct{})
	stream := r.startNew("s1", "t2", wait(gate))
	spec.ReportTerminalTurn(byHand("tui-1"))
	spec.ReportTerminalTurn(byHand("tui-1")) // reported again
	close(gate)                              // it waits for the turn of the host
	r.read(stream)
	r.until("it is journaled", func() bool { return r.cursor("s1").Seq >= 11 })
	r.delivered()
	events := r.broker.of("s1")
	wantLines(t, "events", withoutTimes(summary(events), "\x00")[7:], []string{
		"tui-1 tool-call c1", "tui-1 tool-result c1", "tui-1 text it is [redacted]", "tui-1 finish stop ",
	})
	for _, e := range events {
		if (e.Origin == protocol.OriginTerminal) != (e.TurnID == "tui-1") || strings.Contains(string(e.Input), "top-secret") {
			t.Errorf("event %+v", e)
		}
	}
	r.turn("s1", "t3", writeText("b")) // the session continues
}

func TestAHeadlessHistoryHasTheTurnsOfATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.LocalURL = localURL }
	r.start()
	id, grant := r.headless(&agenthost.HeadlessRequest{})
	r.agent.script(writeText("a"))
	r.linesOf(grant, "go")
	spec, _ := r.workspaceOf(id)
	spec.ReportTerminalTurn(byHand(""))
	var got []string
	r.until("the history has it", func() bool {
		lines, err := r.host.History(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, l := range lines {
			got = append(got, l.Type)
		}
		return len(got) >= 8
	})
	wantLines(t, "lines", got[3:], []string{"input", "tool_start", "tool_message", "message", "state"})
}

// The host knows its own turns: what a program reports while one is open is no turn of a terminal.
func TestReportsDuringATurnOfTheHostAreNoTurnOfATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.LocalURL = localURL }
	r.start()
	r.turn("s1", "t1", writeText("a"))
	_, g := r.workspaceOf("s1")
	report := func(turn agenthost.TurnReport) {
		r.host.Hook(g, agenthost.HookReport{Program: "tui", Turn: turn})
	}
	report(agenthost.TurnReport{Began: true, ID: "tui-1", Prompt: "go"})
	gate := make(chan struct{})
	stream := r.startNew("s1", "t2", wait(gate))
	report(agenthost.TurnReport{Call: &agenthost.ToolCall{ID: "c1", Name: "ls"}})
	close(gate)
	r.read(stream)
	report(agenthost.TurnReport{Ended: true, Text: "of t2"})
	report(agenthost.TurnReport{Began: true, ID: "tui-2", Prompt: "go"})
	report(agenthost.TurnReport{Ended: true, Text: "by hand"})
	r.until("the second is journaled", func() bool { return r.cursor("s1").Seq >= 9 })
	r.delivered()
	wantLines(t, "events", withoutTimes(summary(r.broker.of("s1")), "\x00")[7:], []string{
		"tui-2 text by hand", "tui-2 finish stop ",
	})
}

// isAttached reports whether a terminal client is open on a session, as its broker learns it.
func (r *rig) isAttached(session string) bool {
	r.Helper()
	return r.openSession(&protocol.OpenSessionRequest{
		SessionID: session, WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Cursor: r.broker.cursorOf(session),
	}).Attached
}

// attachTerminal reports an open terminal client. ended gets whether the client had to end.
func (r *rig) attachTerminal(session string) (ended <-chan bool) {
	r.Helper()
	out := make(chan bool, 1)
	go func() {
		taken, err := r.host.WatchTerminal(r.Context(), session, time.Minute)
		if err != nil {
			r.Error(err)
		}
		out <- taken
	}()
	r.until("the terminal is attached", func() bool { return r.isAttached(session) })
	return out
}

func TestAPromptTakesAnAttachedTerminalOver(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("a"))
	ended := r.attachTerminal("s1")
	grant := r.announce("s1", "t2")
	start := func(ctx context.Context, force bool) error {
		r.agent.script(writeText("b"))
		stream, err := r.host.Start(ctx, grant, &protocol.PromptRequest{Prompt: "go", Force: force})
		if err == nil {
			r.read(stream)
			stream.Close()
		}
		return err
	}
	r.wantCode("a prompt without force", func() error {
		_, err := r.host.Start(t.Context(), grant, &protocol.PromptRequest{Prompt: "go"})
		return err
	}(), protocol.CodeAttached)
	r.wantCode("an empty prompt with force", func() error {
		_, err := r.host.Start(t.Context(), grant, &protocol.PromptRequest{Force: true})
		return err
	}(), protocol.CodeInvalid)
	select {
	case <-ended:
		t.Fatal("an empty prompt ended the terminal")
	default:
	}
	started := make(chan error, 1)
	go func() { started <- start(t.Context(), true) }()
	if !<-ended {
		t.Error("the terminal was not notified")
	}
	select {
	case err := <-started:
		t.Errorf("the turn began beside the terminal: %v", err)
	default:
	}
	if err := r.host.TerminalClosed("s1"); err != nil {
		t.Error(err)
	}
	if err := <-started; err != nil {
		t.Error(err)
	}
	r.turn("s1", "t3", writeText("c")) // without force again
	for what, err := range map[string]error{
		"watch": func() error { _, err := r.host.WatchTerminal(t.Context(), "s9", 0); return err }(),
		"close": r.host.TerminalClosed("s9"),
	} {
		r.wantCode("no such session: "+what, err, protocol.CodeNotFound)
	}
}

func TestATerminalWithoutReportsIsTakenOver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.turn("s1", "t1", writeText("a"))
		ctx, cancel := context.WithCancel(r.Context())
		cancel() // its process was killed
		if taken, err := r.host.WatchTerminal(ctx, "s1", time.Second); taken || err != nil {
			r.Error(taken, err)
		}
		grant := r.announce("s1", "t2")
		_, err := r.host.Start(r.Context(), grant, &protocol.PromptRequest{Prompt: "go"})
		r.wantCode("attached", err, protocol.CodeAttached)
		before := time.Now()
		r.agent.script(writeText("b"))
		stream, err := r.host.Start(r.Context(), grant, &protocol.PromptRequest{Prompt: "go", Force: true})
		if err != nil {
			r.Fatal(err)
		}
		r.read(stream)
		if waited := time.Since(before); waited < 10*time.Second || waited > time.Minute {
			r.Error(fmt.Sprint("waited ", waited))
		}
	})
}

func TestOpeningASessionReportsItsTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("a"))
	if r.isAttached("s1") {
		t.Error("it is attached before a terminal client reports")
	}
	if _, err := r.host.WatchTerminal(t.Context(), "s1", 0); err != nil {
		t.Fatal(err)
	}
	if !r.isAttached("s1") {
		t.Error("it is not attached while the client is open")
	}
	if err := r.host.TerminalClosed("s1"); err != nil || r.isAttached("s1") {
		t.Error("it is attached after the client was closed", err)
	}
}

func TestATurnMadeInATerminalIsJournaledOnceTheDiskHasRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var refused atomic.Int32
	r.options = func(o *agenthost.Options) {
		o.LocalURL = localURL
		o.Journal = &watchedJournal{o.Journal, func(w *agenthost.Write) error {
			isTerminal := slices.ContainsFunc(w.Turns, func(turn agenthost.TurnRecord) bool { return turn.ID == "tui-1" })
			if isTerminal && refused.Add(1) <= 2 {
				return &protocol.Error{Code: protocol.CodeStorageFull, Message: "full"}
			}
			return nil
		}}
	}
	r.start()
	r.turn("s1", "t1", writeText("a"))
	spec, _ := r.workspaceOf("s1")
	spec.ReportTerminalTurn(byHand("tui-1"))
	spec.ReportTerminalTurn(byHand("tui-2"))
	r.until("both are journaled, or the first is lost", func() bool {
		_, err := r.journal.Turn(t.Context(), "s1", "tui-2")
		return err == nil
	})
	r.delivered()
	var finishes []string
	for _, line := range withoutTimes(summary(r.broker.of("s1")), "\x00") {
		if strings.Contains(line, " finish ") {
			finishes = append(finishes, strings.TrimSpace(line))
		}
	}
	wantLines(t, "finishes", finishes, []string{"t1 finish stop", "tui-1 finish stop", "tui-2 finish stop"})
}
