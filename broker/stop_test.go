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
		_, err := k.sessions.Interrupt(k.ctx, k.user.UserID, taskID)
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
			if want := []string{"", done.TurnID}; !slices.Equal(k.host.stopped, want) {
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
	_, err := k.sessions.Interrupt(k.ctx, k.user.UserID, task.ID)
	k.must(err)
	k.mustSend(task.ID, "", seqd(1, 2, turn, `'type':'status','status':'busy'`))
	if open := openTurn(k.get(task.ID)); open != turn {
		t.Errorf("open turn %q", open)
	}
	k.mustSend(task.ID, "", seqd(1, 3, turn, `'type':'finish','finishReason':'other','reason':'aborted'`))
	same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'other','reason':'aborted','usage':null}`)

	t.Run("a host that ran it nevertheless says how it ended", func(t *testing.T) {
		turn := k.checkIn(task.ID, "y").TurnID
		_, err := k.sessions.Interrupt(k.ctx, k.user.UserID, task.ID)
		k.must(err)
		k.mustSend(task.ID, "", seqd(1, 4, turn, `'type':'status','status':'busy'`), seqd(1, 5, turn, finishStop))
		same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'stop','reason':'','usage':null}`)
	})
}
