package broker_test

import (
	"testing"

	"bellhop/protocol"
)

// Any program with the webhook token can name an epoch. Only what the host itself answers
// counts.
func TestAnEpochIsAcceptedAfterTheHostConfirmedIt(t *testing.T) {
	t.Parallel()
	unavailable := `{'code':'unavailable','error':'The agent host could not be asked for its epoch','hint':'Check that ` +
		`the broker reaches the task\u0027s agent host'}`
	refused := `{'code':'unverified','error':'The task\u0027s agent host has not begun this epoch','hint':'Only the ` +
		`host that the task is on begins epochs; if the task has moved, delete the session on its former host'}`
	for _, c := range []struct {
		rule    string
		answer  *protocol.EventsResponse // nil: not reachable
		failure protocol.Code
		want    string
	}{
		{"the host has begun it", &protocol.EventsResponse{Epoch: 2, CurrentEpoch: 2}, "", `null`},
		{"a host that names no current epoch", &protocol.EventsResponse{Epoch: 2}, "", `null`},
		{"the host is at an earlier one", &protocol.EventsResponse{Epoch: 1, CurrentEpoch: 1}, "", refused},
		{"the host does not have the session", nil, protocol.CodeNotFound, refused},
		{"the host cannot be reached", nil, protocol.CodeBadGateway, unavailable},
	} {
		t.Run(c.rule, func(t *testing.T) {
			k := newKit(t)
			k.ingest.Reconciler = k.reconciler
			task := k.task()
			k.checkIn(task.ID, "go")
			k.mustSend(task.ID, "", seqd(1, 1, "t1", text("one")))
			k.host.onEvents = func(string, int64, int64, int) (*protocol.EventsResponse, error) {
				if c.answer == nil {
					return nil, protocol.Errorf(c.failure, "no")
				}
				return c.answer, nil
			}
			before := k.get(task.ID).Rev
			_, err := k.send(task.ID, "", seqd(2, 1, "t1", text("two")), seqd(2, 2, "t1", text("three")))
			shown, _ := fault(err).(map[string]any)
			delete(shown, "index")
			if shown == nil {
				same(t, nil, c.want)
			} else {
				same(t, shown, c.want)
			}
			if after := k.get(task.ID).Rev; err != nil && after != before {
				t.Errorf("a refused request changed the task from rev %d to %d", before, after)
			}
			k.mustSend(task.ID, "", seqd(1, 1, "t1", text("one"))) // the session's own events are not affected
		})
	}
}

// A host that does not serve its events cannot be asked. Such hosts post no positions, unless
// another vendor's do; a forged epoch then harms that host alone.
func TestAnEpochOfAHostWithoutEventsIsTaken(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{Token: "stream-token"}, nil
	}
	k.checkIn(task.ID, "go")
	k.mustSend(task.ID, "t1", seqd(2, 1, "t1", text("one")), `{'type':'text','id':'x','text':'two','timestamp':1}`)
	if n := len(k.messages(task.ID)); n != 3 {
		t.Errorf("%d messages", n)
	}
}
