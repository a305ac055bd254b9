package broker_test

import (
	"slices"
	"testing"

	"bellhop/protocol"
)

// stopDuringOpening has a user stop the task from a second tab while the host opens its session.
func (k *kit) stopDuringOpening(taskID string, capabilities ...string) {
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		k.host.onOpen = nil
		_, err := k.sessions.Interrupt(k.ctx, k.user.UserID, taskID, "")
		k.must(err)
		return &protocol.OpenSessionResponse{Token: "stream-token", Cursor: req.Cursor, Capabilities: capabilities}, nil
	}
}

func TestAStopDuringACheckInReachesTheHostBeforeThePrompt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		earlier  bool // the broker knows already that the host has events
		notFound bool // the first interrupt finds no session
	}{
		{"of a new task", false, true},
		{"of a task with turns", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKit(t)
			task := k.task()
			if c.earlier {
				earlier := k.checkIn(task.ID, "earlier")
				k.mustSend(task.ID, "", seqd(1, 1, earlier.TurnID, finishStop))
			}
			if c.notFound {
				k.host.failure = protocol.Errorf(protocol.CodeNotFound, "Session not found")
			}
			k.stopDuringOpening(task.ID, protocol.CapabilityEvents)
			done := k.checkIn(task.ID, "x")
			first := "" // a host that has sent nothing yet may be basic
			if c.earlier {
				first = done.TurnID
			}
			if want := []string{first, done.TurnID}; !slices.Equal(k.host.stopped, want) {
				t.Fatalf("turns stopped at the host: %q, want %q", k.host.stopped, want)
			}

			k.host.stopped = nil
			next := k.checkIn(task.ID, "y")
			if len(k.host.stopped) != 0 {
				t.Errorf("the check-in of %s stopped %q", next.TurnID, k.host.stopped)
			}
		})
	}
}

func TestAStopBeforeAPromptEndsTheTurnLikeAnyOther(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	earlier := k.checkIn(task.ID, "earlier")
	k.mustSend(task.ID, "", seqd(1, 1, earlier.TurnID, finishStop))
	turn := k.checkIn(task.ID, "x").TurnID
	_, err := k.sessions.Interrupt(k.ctx, k.user.UserID, task.ID, "")
	k.must(err)
	k.mustSend(task.ID, "", seqd(1, 2, turn, `'type':'status','status':'busy'`))
	if open := openTurn(k.get(task.ID)); open != turn {
		t.Errorf("open turn %q", open)
	}
	k.mustSend(task.ID, "", seqd(1, 3, turn, `'type':'finish','finishReason':'other','reason':'aborted'`))
	same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'other','reason':'aborted','usage':null}`)

	t.Run("a host that ran it nevertheless says how it ended", func(t *testing.T) {
		turn := k.checkIn(task.ID, "y").TurnID
		_, err := k.sessions.Interrupt(k.ctx, k.user.UserID, task.ID, "")
		k.must(err)
		k.mustSend(task.ID, "", seqd(1, 4, turn, `'type':'status','status':'busy'`), seqd(1, 5, turn, finishStop))
		same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'stop','reason':'','usage':null}`)
	})
}

// A late copy of an interruption names a turn that is over.
func TestAnInterruptionStopsItsTurnAlone(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	first := k.checkIn(task.ID, "first")
	k.mustSend(task.ID, "", seqd(1, 1, first.TurnID, finishStop))
	second := k.checkIn(task.ID, "second")
	k.mustSend(task.ID, second.TurnID, seqd(1, 2, second.TurnID, `'type':'text','id':'a','text':'working'`))
	interrupt := func(turn string, want ...string) {
		t.Helper()
		k.host.stopped = nil
		_, err := k.sessions.Interrupt(k.ctx, k.user.UserID, task.ID, turn)
		k.must(err)
		if !slices.Equal(k.host.stopped, want) {
			t.Errorf("turn %q: stopped %q, want %q", turn, k.host.stopped, want)
		}
	}
	interrupt(first.TurnID, first.TurnID)
	interrupt("", second.TurnID)
	other := "of-a-terminal-client"
	k.host.open = &other
	interrupt("", other)
	none := ""
	k.host.open = &none
	interrupt("", second.TurnID)
	k.mustSend(task.ID, "", seqd(1, 3, second.TurnID, finishStop))
	interrupt("")
	k.host.open = nil
	interrupt("", "")
}
