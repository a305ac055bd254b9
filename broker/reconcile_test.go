package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// journal holds one session's events; its Events answers as protocol section 2
// specifies.
type journal struct {
	mu     sync.Mutex
	epoch  int64
	events []json.RawMessage
	open   string
	pulls  int

	announced string
}

func (j *journal) add(turn, rest string) json.RawMessage {
	j.mu.Lock()
	defer j.mu.Unlock()
	raw := json.RawMessage(strings.ReplaceAll(seqd(j.epoch, int64(len(j.events)+1), turn, rest), "'", `"`))
	j.events = append(j.events, raw)
	return raw
}

func (j *journal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pulls
}

func (j *journal) page(_ string, epoch, after int64, limit int) (*protocol.EventsResponse, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pulls++
	if epoch != 0 && epoch != j.epoch {
		after = 0
	}
	after = min(after, int64(len(j.events)))
	end := min(after+int64(limit), int64(len(j.events)))
	return &protocol.EventsResponse{Epoch: j.epoch, Events: j.events[after:end], NextAfter: end, OpenTurn: j.open, AnnouncedTurn: j.announced}, nil
}

// afterFirstEvent returns a broker that checked in one message and received the first event of
// its turn, with the journal of the host and the id of the turn.
func afterFirstEvent(t *testing.T) (*kit, *protocol.Task, *journal, string) {
	k := newKit(t)
	task := k.task()
	in := k.checkIn(task.ID, "go")
	j := &journal{epoch: 1, open: in.TurnID}
	k.host.onEvents = j.page
	k.mustSend(task.ID, "", string(j.add(in.TurnID, text("first"))))
	return k, task, j, in.TurnID
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	t.Run("events that no webhook brought are pulled, page by page", func(t *testing.T) {
		k, task, j, turn := afterFirstEvent(t)
		for i := range 250 {
			j.add(turn, text(fmt.Sprint("part ", i)))
		}
		j.add(turn, finishStop)
		j.open = ""
		k.must(k.reconciler.Task(k.ctx, task.ID))
		if n := len(k.messages(task.ID)); n != 252 {
			t.Errorf("%d messages", n)
		}
		same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'stop','reason':'','usage':null}`)
	})
	t.Run("a running turn stays open", func(t *testing.T) {
		k, task, _, turn := afterFirstEvent(t)
		k.must(k.reconciler.Task(k.ctx, task.ID))
		if open := openTurn(k.get(task.ID)); open != turn {
			t.Errorf("open turn %q", open)
		}
	})
	t.Run("a turn the host does not have is lost", func(t *testing.T) {
		k, task, j, turn := afterFirstEvent(t)
		j.open = "another"
		k.must(k.reconciler.Task(k.ctx, task.ID))
		same(t, k.brief(task.ID), `{'status':'idle','open':'','last':{'id':'`+turn+`','finishReason':'other','reason':'host-lost','usage':null},'messages':[
			{'role':'USER','turn':'`+turn+`','status':'SENT','text':'go'},{'role':'ASSISTANT','turn':'`+turn+`','status':'SENT','text':'first'}]}`)
	})
	t.Run("the tools of a lost turn are settled, and late results complete them", func(t *testing.T) {
		k, task, j, turn := afterFirstEvent(t)
		k.mustSend(task.ID, "",
			string(j.add(turn, `'type':'tool-call','toolCallId':'a','toolName':'sh','input':1`)),
			string(j.add(turn, `'type':'tool-call','toolCallId':'b','toolName':'sh','input':2`)),
			string(j.add(turn, `'type':'tool-result','toolCallId':'b','toolName':'sh','output':3`)))
		j.open = "another"
		k.must(k.reconciler.Task(k.ctx, task.ID))
		shown := func(state, output string) string {
			return `{'status':'idle','open':'','last':{'id':'` + turn + `','finishReason':'other','reason':'host-lost','usage':null},'messages':[
			{'role':'USER','turn':'` + turn + `','status':'SENT','text':'go'},{'role':'ASSISTANT','turn':'` + turn + `','status':'SENT','text':'first'},
			{'role':'ASSISTANT','turn':'` + turn + `','status':'SENT','tool':{'toolCallId':'a','toolName':'sh','input':1,'output':` + output + `,'isError':false,'state':'` + state + `'}},
			{'role':'ASSISTANT','turn':'` + turn + `','status':'SENT','tool':{'toolCallId':'b','toolName':'sh','input':2,'output':3,'isError':false,'state':'done'}}]}`
		}
		same(t, k.brief(task.ID), shown("unknown", "null"))
		if rev := k.get(task.ID).Rev; k.notified.rev(task.ID) != rev {
			t.Errorf("readers know of rev %d, the task is at %d", k.notified.rev(task.ID), rev)
		}
		k.mustSend(task.ID, "", string(j.add(turn, `'type':'tool-result','toolCallId':'a','toolName':'sh','output':4`)))
		same(t, k.brief(task.ID), shown("done", "4"))
	})
	t.Run("a session the host does not have loses its turn", func(t *testing.T) {
		k, task, _, turn := afterFirstEvent(t)
		k.host.onEvents = func(string, int64, int64, int) (*protocol.EventsResponse, error) {
			return nil, protocol.Errorf(protocol.CodeNotFound, "Session not found")
		}
		k.must(k.reconciler.Task(k.ctx, task.ID))
		same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'other','reason':'host-lost','usage':null}`)
	})
	t.Run("an unreachable host proves nothing", func(t *testing.T) {
		k, task, _, turn := afterFirstEvent(t)
		k.host.onEvents = func(string, int64, int64, int) (*protocol.EventsResponse, error) {
			return nil, protocol.Errorf(protocol.CodeBadGateway, "Failed to connect to agent server")
		}
		if err := k.reconciler.Task(k.ctx, task.ID); protocol.CodeOf(err) != protocol.CodeBadGateway {
			t.Errorf("%v", err)
		}
		if open := openTurn(k.get(task.ID)); open != turn {
			t.Errorf("open turn %q", open)
		}
	})
	t.Run("a turn that ends between journal and state is not lost", func(t *testing.T) {
		k, task, j, turn := afterFirstEvent(t)
		k.host.onEvents = func(id string, epoch, after int64, limit int) (*protocol.EventsResponse, error) {
			page, err := j.page(id, epoch, after, limit)
			if j.pulls == 1 { // the finish is written after the journal was read
				j.add(turn, finishStop)
				page.OpenTurn = ""
			}
			j.open = ""
			return page, err
		}
		k.must(k.reconciler.Task(k.ctx, task.ID))
		same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'stop','reason':'','usage':null}`)
	})
	t.Run("a host that lost its disk starts a later epoch", func(t *testing.T) {
		k, task, _, turn := afterFirstEvent(t)
		lost := &journal{epoch: 2, open: "t9"}
		lost.add("t9", text("again"))
		k.host.onEvents = lost.page
		k.must(k.reconciler.Task(k.ctx, task.ID))
		got := k.get(task.ID)
		same(t, got.LastTurn, `{'id':'`+turn+`','finishReason':'other','reason':'host-lost','usage':null}`)
		if openTurn(got) != "t9" || got.AgentStatus != protocol.StatusBusy {
			t.Errorf("open turn %q, %s", openTurn(got), got.AgentStatus)
		}
	})
	t.Run("a host restored from an older copy is behind until its next session", func(t *testing.T) {
		k, task, j, turn := afterFirstEvent(t)
		k.ingest.Reconciler, j.epoch = k.reconciler, 2
		k.mustSend(task.ID, "", seqd(2, 1, turn, text("later")))
		j.open, j.epoch = "", 1
		k.must(k.reconciler.Task(k.ctx, task.ID))
		if n := len(k.messages(task.ID)); n != 3 {
			t.Errorf("%d messages", n)
		}
		same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'other','reason':'host-lost','usage':null}`)
	})
	t.Run("a broker restored from an older copy requests the missing events", func(t *testing.T) {
		k, task, j, turn := afterFirstEvent(t)
		for i := range 5 {
			j.add(turn, text(fmt.Sprint(i)))
		}
		_, err := k.send(task.ID, "", string(j.add(turn, text("newest"))))
		same(t, fault(err), `{'code':'gap','error':'Events are missing before this one','cursor':{'epoch':1,'seq':1}}`)
		k.must(k.reconciler.Task(k.ctx, task.ID))
		if n := len(k.messages(task.ID)); n != 8 {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("a turn whose prompt the host still waits for is not lost, whatever the clock says", func(t *testing.T) {
		k := newKit(t)
		task := k.task()
		in := k.checkIn(task.ID, "go")
		j := &journal{epoch: 1, announced: in.TurnID}
		k.host.onEvents = j.page
		k.clock.Advance(24 * time.Hour)
		k.must(k.reconciler.Task(k.ctx, task.ID))
		if state := k.messages(task.ID)[0].Status; state != protocol.MessageSent {
			t.Errorf("the message is %s", state)
		}
		k.mustSend(task.ID, "", string(j.add(in.TurnID, text("begins"))))
		if open := openTurn(k.get(task.ID)); open != in.TurnID {
			t.Errorf("open turn %q", open)
		}
	})
	t.Run("an announced turn that was lost opens again when its host begins it", func(t *testing.T) {
		k := newKit(t)
		task := k.task()
		in := k.checkIn(task.ID, "go")
		j := &journal{epoch: 1}
		k.host.onEvents = j.page
		k.clock.Advance(12 * time.Minute)
		k.must(k.reconciler.Task(k.ctx, task.ID))
		k.mustSend(task.ID, "", string(j.add(in.TurnID, text("begins"))))
		same(t, k.brief(task.ID), `{'status':'busy','open':'`+in.TurnID+`','last':{'id':'`+in.TurnID+`','finishReason':'other','reason':'host-lost','usage':null},
			'messages':[{'role':'USER','turn':'`+in.TurnID+`','status':'SENT','text':'go'},{'role':'ASSISTANT','turn':'`+in.TurnID+`','status':'SENT','text':'begins'}]}`)
		k.mustSend(task.ID, "", string(j.add(in.TurnID, finishStop)))
		same(t, k.get(task.ID).LastTurn, `{'id':'`+in.TurnID+`','finishReason':'stop','reason':'','usage':null}`)
	})
	t.Run("an open turn that the host only announced is lost", func(t *testing.T) {
		k, task, j, turn := afterFirstEvent(t)
		j.open, j.announced = "", turn
		k.must(k.reconciler.Task(k.ctx, task.ID))
		same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'other','reason':'host-lost','usage':null}`)
		k.mustSend(task.ID, "", string(j.add(turn, text("more"))))
		if open := openTurn(k.get(task.ID)); open != "" {
			t.Errorf("open turn %q", open)
		}
	})
	t.Run("a turn announced 11 minutes ago that the host does not know fails its message", func(t *testing.T) {
		k := newKit(t)
		task := k.task()
		in := k.checkIn(task.ID, "go")
		k.host.onEvents = (&journal{epoch: 1}).page
		k.clock.Advance(11 * time.Minute)
		k.must(k.reconciler.Task(k.ctx, task.ID))
		if state := k.messages(task.ID)[0].Status; state != protocol.MessageSent {
			t.Errorf("at 11 minutes: %s", state)
		}
		k.clock.Advance(time.Second)
		k.must(k.reconciler.Task(k.ctx, task.ID))
		same(t, k.brief(task.ID), `{'status':'idle','open':'','last':{'id':'`+in.TurnID+`','finishReason':'other','reason':'host-lost','usage':null},
			'messages':[{'role':'USER','turn':'`+in.TurnID+`','status':'ERROR','text':'go'}]}`)
	})
}

// A turn may be queued behind another one for longer than any token is valid.
func TestATurnThatWaitsAtItsHostIsNotLost(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	in := k.checkIn(task.ID, "go")
	waiting := []string{"another", in.TurnID}
	k.host.onEvents = func(string, int64, int64, int) (*protocol.EventsResponse, error) {
		return &protocol.EventsResponse{Epoch: 1, OpenTurn: "t0", QueuedTurns: waiting}, nil
	}
	k.clock.Advance(time.Hour)
	k.must(k.reconciler.Task(k.ctx, task.ID))
	if state := k.messages(task.ID)[0].Status; state != protocol.MessageSent {
		t.Errorf("while it waits: %s", state)
	}
	waiting = nil
	k.must(k.reconciler.Task(k.ctx, task.ID))
	if state := k.messages(task.ID)[0].Status; state != protocol.MessageError {
		t.Errorf("once the host does not have it: %s", state)
	}
}

func TestReconcilerRun(t *testing.T) {
	t.Parallel()
	k, task, j, turn := afterFirstEvent(t)
	dead := k.task()
	k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: dead.ID, Message: "x"})
	k.mustSend(dead.ID, "", seqd(1, 1, "t1", text("x")))
	elsewhere := "https://dead.example"
	_, err := k.tasks.Update(k.ctx, k.user, dead.ID, broker.TaskPatch{AgentURL: &elsewhere})
	k.must(err)
	j.add(turn, finishStop)
	j.open = ""
	hang := make(chan struct{})
	asked := make(chan string, 16)
	k.host.onEvents = func(id string, epoch, after int64, limit int) (*protocol.EventsResponse, error) {
		if id == dead.ID {
			<-hang
			return nil, protocol.Errorf(protocol.CodeBadGateway, "Failed to connect to agent server")
		}
		page, err := j.page(id, epoch, after, limit)
		asked <- id
		return page, err
	}
	ctx, cancel := context.WithCancel(k.ctx)
	done := make(chan error)
	go func() { done <- k.reconciler.Run(ctx) }()
	<-asked // pulled at start, although another host hangs
	k.clock.Advance(3 * time.Second)
	k.reconciler.Wake(task.ID)
	<-asked // pulled because it was woken
	close(hang)
	cancel()
	k.must(<-done)
	same(t, k.get(task.ID).LastTurn, `{'id':'`+turn+`','finishReason':'stop','reason':'','usage':null}`)
}

func TestReconcilerAsksSilentTurnsEvery30Seconds(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		k := kitOn(t, st)
		k.reconciler.Now, k.ingest.Now, k.sessions.Now, k.updater.Now = time.Now, time.Now, time.Now, time.Now
		task := k.task()
		in := k.checkIn(task.ID, "go")
		j := &journal{epoch: 1, open: in.TurnID}
		k.host.onEvents = j.page
		k.mustSend(task.ID, "", string(j.add(in.TurnID, text("x"))))
		ctx, cancel := context.WithCancel(k.ctx)
		go k.reconciler.Run(ctx)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		atStart := j.count()
		time.Sleep(95 * time.Second)
		synctest.Wait()
		if later := j.count() - atStart; atStart != 1 || later != 3 {
			t.Errorf("%d pulls at start, %d in the next 95 s", atStart, later)
		}
		cancel()
	})
}
