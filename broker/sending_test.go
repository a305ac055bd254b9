package broker_test

import (
	"testing"
	"time"

	"bellhop/protocol"
)

func TestMessageStuckInSending(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	// The broker dies while it calls the host: nothing records the outcome of the
	// message.
	k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) { panic("killed") }
	func() {
		defer func() { _ = recover() }()
		k.checkIn(task.ID, "x")
	}()
	k.clock.Advance(29 * time.Second)
	k.upkeep.Sweep(k.ctx)
	if status := k.messages(task.ID)[0].Status; status != protocol.MessageSending {
		t.Errorf("after 29 s: %s", status)
	}
	k.clock.Advance(time.Second)
	k.upkeep.Sweep(k.ctx)
	if status := k.messages(task.ID)[0].Status; status != protocol.MessageError {
		t.Errorf("after 30 s: %s", status)
	}
}

// The database was restored from a backup that was taken during the call to the host. The turn
// ran, and only the record of the delivery is lost.
func TestAMessageWhoseTurnRanIsNoError(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]string{
		"open":   {text("a")},
		"closed": {text("a"), finishStop},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			task := k.task()
			turn := ""
			k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
				turn = req.Turn.ID
				panic("killed")
			}
			func() {
				defer func() { _ = recover() }()
				k.checkIn(task.ID, "x")
			}()
			for i, event := range events {
				k.mustSend(task.ID, "", seqd(1, int64(i+1), turn, event))
			}
			k.clock.Advance(30 * time.Second)
			k.upkeep.Sweep(k.ctx)
			if status := k.messages(task.ID)[0].Status; status != protocol.MessageSent {
				t.Errorf("status %s", status)
			}
		})
	}
}

// The database was restored as above, and the check-in was repeated and failed before the host sent
// its events again: the broker took the turn for one that no client can start.
func TestATurnThatRanIsNotNotStarted(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	turn := ""
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		turn = req.Turn.ID
		return nil, &protocol.Error{Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server"}
	}
	_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "x"})
	if protocol.CodeOf(err) != protocol.CodeBadGateway || k.messages(task.ID)[0].Status != protocol.MessageError {
		t.Fatalf("%v, %+v", err, k.messages(task.ID))
	}
	k.mustSend(task.ID, "", seqd(1, 1, turn, `'type':'status','status':'busy'`), seqd(1, 2, turn, text("a")))
	same(t, k.brief(task.ID), `{'status':'busy','open':'`+turn+`','messages':[
		{'role':'USER','turn':'`+turn+`','status':'SENT','text':'x'},
		{'role':'ASSISTANT','turn':'`+turn+`','status':'SENT','text':'a'}]}`)
	k.mustSend(task.ID, "", seqd(1, 3, turn, finishStop))
	same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'stop','reason':'','usage':null}`)
}
