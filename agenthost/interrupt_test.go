package agenthost_test

import (
	"context"
	"sync/atomic"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// ran are the parts of a turn that its agent worked on.
var ran = []string{"text-start", "text-delta", "text-end", "finish"}

// stopAnnounced is what a user does in a second tab, after the check-in of the first and before its prompt.
func (r *rig) stopAnnounced(session, turn string) agenthost.Grant {
	r.Helper()
	g := r.announce(session, turn)
	if err := r.host.Interrupt(r.Context(), session, ""); err != nil {
		r.Fatal(err)
	}
	return g
}

// wantStopped reads a turn that was stopped before its prompt came.
func (r *rig) wantStopped(stream *agenthost.Stream) {
	r.Helper()
	wantLines(r.T, "parts", types(r.read(stream)), []string{"abort"})
}

func TestATurnThatIsStoppedBeforeItsPromptNeverRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.agent.script(writeText("not wanted"))
	g := r.stopAnnounced("s1", "t1")
	r.wantStopped(r.startGrant(g))
	r.delivered()
	wantLines(t, "events", summary(r.broker.of("s1")), []string{
		"1/1 t1 status busy ", "1/2 t1 finish other aborted", "1/3 t1 status idle ",
	})
	if n := r.agent.opened(); n != 0 {
		t.Errorf("%d programs were opened", n)
	}
	r.wantStopped(r.startGrant(g)) // the prompt again

	wantLines(t, "the next turn", types(r.startedNow("s1", "t2")), ran)
}

func (r *rig) startedNow(session, turn string) []frame {
	r.Helper()
	return r.read(r.startGrant(r.announce(session, turn)))
}

func TestAStopBeforeThePromptOutlivesARestartOfTheHost(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.agent.script(writeText("not wanted"))
	g := r.stopAnnounced("s1", "t1")
	r.open(r.crash())
	r.run()
	r.wantStopped(r.startGrant(g))
	if n := r.agent.opened(); n != 0 {
		t.Errorf("%d programs were opened", n)
	}
}

// brokenJournal is a journal that cannot be written while it is broken.
type brokenJournal struct {
	agenthost.Journal
	broken atomic.Bool
}

func (j *brokenJournal) Write(ctx context.Context, w *agenthost.Write) error {
	if j.broken.Load() {
		return protocol.Errorf(protocol.CodeStorageFull, "The agent host's disk is full")
	}
	return j.Journal.Write(ctx, w)
}

func TestAStopBeforeThePromptThatCannotBeWrittenFails(t *testing.T) {
	t.Parallel()
	journal := &brokenJournal{}
	r := newRig(t)
	r.options = func(o *agenthost.Options) { journal.Journal, o.Journal = o.Journal, journal }
	r.start()
	r.agent.script(writeText("not wanted"))
	g := r.announce("s1", "t1")
	journal.broken.Store(true)
	r.wantCode("a full disk", r.host.Interrupt(t.Context(), "s1", ""), protocol.CodeStorageFull)
	journal.broken.Store(false)
	r.wantCode("room again", r.host.Interrupt(t.Context(), "s1", ""), "")
	r.wantStopped(r.startGrant(g))
}

func TestAStopBeforeThePromptConcernsThatTurnAlone(t *testing.T) {
	t.Parallel()
	t.Run("a later turn supersedes it", func(t *testing.T) {
		r := newRig(t).start()
		r.agent.script(writeText("wanted"))
		r.stopAnnounced("s1", "t1")
		wantLines(t, "parts", types(r.startedNow("s1", "t2")), ran)
	})
	t.Run("its message is checked in again", func(t *testing.T) {
		r := newRig(t).start()
		r.agent.script(writeText("wanted"))
		r.stopAnnounced("s1", "t1")
		wantLines(t, "parts", types(r.startedNow("s1", "t1")), ran)
	})
	t.Run("an open turn is the one that is stopped", func(t *testing.T) {
		r := newRig(t).start()
		first := r.startNew("s1", "t1", writeText("one"), forever)
		r.readN(first, 2)
		r.agent.script(writeText("wanted"))
		g := r.stopAnnounced("s1", "t2")
		r.read(first)
		wantLines(t, "parts", types(r.read(r.startGrant(g))), ran)
	})
	t.Run("a turn is named", func(t *testing.T) {
		r := newRig(t).start()
		gate := make(chan struct{})
		first := r.startNew("s1", "t1", writeText("one"), wait(gate))
		r.readN(first, 2)
		g := r.announce("s1", "t2")
		for _, turn := range []string{"t2", "t9"} {
			if err := r.host.Interrupt(t.Context(), "s1", turn); err != nil {
				t.Fatal(err)
			}
		}
		waiting := r.post(g, protocol.WhenBusyInterrupt) // a stopped turn does not end the open one
		r.readN(waiting, 1)
		close(gate)
		r.wantStopped(waiting)
		wantLines(t, "finishes", r.finishes(), []string{"t1 finish stop", "t2 finish other aborted"})
	})
}
