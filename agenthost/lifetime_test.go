package agenthost_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// PROC-5: a turn that meets a full disk fails clearly; it ends once there is room.
func TestAFullDiskFailsTheTurnAndServiceResumes(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s0", "t1", writeText("before"))
	gate, failed := make(chan struct{}), make(chan error, 1)
	stream := r.startNew("s1", "t1", writeText("hi"), wait(gate), func(_ context.Context, out agenthost.Output) error {
		err := errors.Join(out.Text(strings.Repeat("x", 200<<10)), out.EndText(""))
		failed <- err
		return err
	})
	r.readN(stream, 2)
	if err := r.journal.Limit(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	close(gate)
	r.wantCode("what the agent gets", <-failed, protocol.CodeStorageFull)
	g := r.announceFull("s1", "t2")
	if g != protocol.CodeStorageFull && g != "" {
		t.Errorf("a check-in meanwhile: %s", g)
	}
	if err := r.journal.Limit(t.Context(), 1<<30); err != nil {
		t.Fatal(err)
	}
	frames := r.read(stream)
	last := frames[len(frames)-1]
	if last.part.Type != "error" || string(last.part.Error) != `"The agent host's disk is full"` {
		t.Errorf("the end: %s", last.json)
	}
	if got := r.texts("s1"); len(got) != 1 || got[0] != "hi"+streamed(append([]frame{}, frames...))[0] {
		t.Errorf("the text that was streamed is not the text that was kept")
	}
	wantLines(t, "another turn", types(r.turn("s1", "t3", writeText("again"))), []string{
		"text-start", "text-delta", "text-end", "finish",
	})
	r.delivered()
}

// announceFull is how a check-in goes while the disk is full.
func (r *rig) announceFull(session, turn string) protocol.Code {
	_, err := r.host.Open(r.Context(), &protocol.OpenSessionRequest{
		SessionID: session, WebhookURL: r.broker.url(),
		Cursor: r.broker.cursorOf(session), Turn: &protocol.AnnouncedTurn{ID: turn},
	}, agenthost.Keys{})
	return protocol.CodeOf(err)
}

func TestATurnWhoseTokensExpireIsNotStarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.TokenTTL = 500 * time.Millisecond }
	r.start()
	g := r.announce("s1", "t1")
	r.until("its end", func() bool { return len(r.broker.of("s1")) == 1 })
	wantLines(t, "events", summary(r.broker.of("s1")), []string{"1/1 t1 finish other not-started"})
	_, err := r.host.Start(t.Context(), g, &protocol.PromptRequest{Prompt: "x"})
	r.wantCode("start after that", err, protocol.CodeNoTurn)
}

func TestAnAnnouncedTurnSurvivesARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	g := r.announce("s1", "t1")
	r.stop()
	r.start()
	r.agent.script(writeText("hi"))
	wantLines(t, "parts", types(r.read(r.startGrant(g))), []string{"text-start", "text-delta", "text-end", "finish"})
	g = r.announce("s1", "t2")
	r.stop()
	r.options = func(o *agenthost.Options) { o.Now = func() time.Time { return time.Now().Add(time.Hour) } }
	r.start()
	r.delivered()
	lines := summary(r.broker.of("s1"))
	if !strings.HasSuffix(lines[len(lines)-1], "t2 finish other not-started") {
		t.Errorf("events %q", lines)
	}
	_, err := r.host.Start(t.Context(), g, &protocol.PromptRequest{Prompt: "x"})
	r.wantCode("start after its time", err, protocol.CodeNoTurn)
}

func TestTheEndOfTheHostEndsTurnsAndSendsTheirFinish(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.DrainTimeout = 10 * time.Second }
	r.start()
	stream := r.startNew("s1", "t1", writeText("half"), forever)
	r.readN(stream, 2)
	follow := r.attach("s1", "", true)
	r.stop()
	frames := r.read(stream)
	last := frames[len(frames)-1]
	if last.part.Type != "finish" || last.part.RawFinishReason != "host-restarted" {
		t.Errorf("the terminal frame: %s", last.json)
	}
	wantLines(t, "who follows sees it too", types(r.read(follow)), []string{
		"text-start", "text-delta", "text-end", "finish",
	})
	wantLines(t, "events", summary(r.broker.of("s1")), []string{
		"1/1 t1 status busy ", "1/2 t1 text half", "1/3 t1 finish other host-restarted", "1/4 t1 status idle ",
	})
	_, err := r.host.Open(t.Context(), &protocol.OpenSessionRequest{SessionID: "s2", WebhookURL: r.broker.url()},
		agenthost.Keys{})
	r.wantCode("open after the end", err, protocol.CodeUnavailable)
}

func TestAnIdleAgentIsStoppedAndItsFramesForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) { o.IdleStop = 10 * time.Millisecond }
	r.start()
	all := r.turn("s1", "t1", writeText("hi"))
	r.until("the agent is stopped", func() bool { return r.agent.stopped() > 0 })
	got := r.read(r.attach("s1", all[0].id, false))
	if resumeOf(t, got[0]).Verdict != "gap" {
		t.Errorf("the resume result: %s", got[0].json)
	}
	if r.attach("s1", all[len(all)-1].id, false) != nil {
		t.Error("the newest id is still the newest")
	}
	wantLines(t, "the next turn", types(r.turn("s1", "t2", writeText("again"))), []string{
		"text-start", "text-delta", "text-end", "finish",
	})
}

// PROC-3 at the outbox: events that no answer came for go again, and are duplicates.
func TestTheOutboxResumesAtBoot(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.broker.mu.Lock()
	r.broker.unreachable = true
	r.broker.mu.Unlock()
	r.turn("s1", "t1", writeText("hi"))
	r.stop()
	r.broker.mu.Lock()
	r.broker.unreachable = false
	r.broker.mu.Unlock()
	r.start()
	r.delivered()
	wantLines(t, "events", summary(r.broker.of("s1")), []string{
		"1/1 t1 status busy ", "1/2 t1 text hi", "1/3 t1 finish stop ", "1/4 t1 status idle ",
	})
}

// PROC-4 in full: the journal is damaged, the host starts empty and says so, and the
// session continues under a higher epoch.
func TestASessionGoesOnAfterADamagedJournal(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", writeText("one"))
	r.delivered()
	r.stop()
	if err := os.WriteFile(r.journal.Path(), []byte("this is no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	status, err := r.host.Status(t.Context())
	if err != nil || len(status.Notices) != 1 || len(status.Sessions) != 0 {
		t.Errorf("status %+v, %v", status, err)
	}
	r.turn("s1", "t2", writeText("two"))
	r.delivered()
	wantLines(t, "events", summary(r.broker.of("s1"))[4:], []string{
		"2/1 t2 status busy ", "2/2 t2 text two", "2/3 t2 finish stop ", "2/4 t2 status idle ",
	})
}

func TestAProviderThatPanicsEndsItsTurnOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	frames := r.turn("s1", "t1", writeText("x"), func(context.Context, agenthost.Output) error { panic("a bug") })
	last := frames[len(frames)-1]
	if last.part.Type != "error" || string(last.part.Error) != `"The agent's provider failed"` {
		t.Errorf("the end: %s", last.json)
	}
	wantLines(t, "the next turn", types(r.turn("s1", "t2", writeText("y"))), []string{
		"text-start", "text-delta", "text-end", "finish",
	})
}
