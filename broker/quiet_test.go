package broker_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

const (
	basicText   = `{'type':'text','id':'text-1','text':'a','timestamp':1}`
	basicCall   = `{'type':'tool-call','toolCallId':'c','toolName':'sh','input':1,'timestamp':2}`
	basicResult = `{'type':'tool-result','toolCallId':'c','toolName':'sh','output':1,'timestamp':3}`
)

// basicTurn is a turn on a basic host that has posted events.
func (k *kit) basicTurn(events ...string) (taskID, turnID string) {
	k.t.Helper()
	k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{Token: "basic"}, nil
	}
	task := k.task()
	in := k.checkIn(task.ID, "go")
	for _, event := range events {
		k.clock.Advance(time.Millisecond)
		k.mustSend(task.ID, in.TurnID, event)
	}
	return task.ID, in.TurnID
}

// after lets time pass and returns the task's status as the next look at silent tasks leaves it.
func (k *kit) after(passed time.Duration, taskID string) string {
	k.t.Helper()
	k.clock.Advance(passed)
	k.upkeep.MarkQuiet(k.ctx)
	task := k.get(taskID)
	if task.OpenTurn == nil {
		return string(task.AgentStatus)
	}
	return strings.Join(strings.Fields(string(task.AgentStatus)+" "+task.Reason+" open"), " ")
}

func (k *kit) listed(state broker.TaskState) int {
	k.t.Helper()
	found, err := k.tasks.List(k.ctx, k.user.UserID, broker.TaskQuery{State: state})
	k.must(err)
	return len(found.Tasks)
}

const (
	isBusy  = "busy open"
	isQuiet = "idle waiting open"
)

func TestABasicTaskIsQuietAMinuteAfterACompleteText(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		hooks := &queue{}
		k.updater.Webhooks = hooks
		task, turn := k.basicTurn(basicCall, basicResult, basicText)
		rev := k.get(task).Rev
		for _, step := range []struct {
			passed time.Duration
			want   string
		}{{59 * time.Second, isBusy}, {time.Second, isQuiet}, {10 * time.Minute, isQuiet}} {
			if got := k.after(step.passed, task); got != step.want {
				t.Fatalf("%s later: %s, want %s", step.passed, got, step.want)
			}
		}
		if got := k.get(task).Rev; got != rev+1 {
			t.Errorf("rev %d after %d", got, rev)
		}
		if n := k.listed(broker.TaskWorking); n != 0 {
			t.Errorf("%d tasks work", n)
		}
		if events := hooks.take(); len(events) != 0 {
			t.Errorf("told of %v before the end", events)
		}

		k.mustSend(task, turn, `{'type':'text','id':'text-1','text':'b','timestamp':4}`)
		if got := k.after(0, task); got != isBusy {
			t.Errorf("after a late text: %s", got)
		}
		if got := k.after(time.Minute, task); got != isQuiet {
			t.Errorf("a minute after it: %s", got)
		}
		k.mustSend(task, turn, `{'type':'finish','finishReason':'stop','timestamp':5}`)
		same(t, k.ending(task), ended(turn, "stop", ""))
		if got := k.after(time.Hour, task); got != "idle" {
			t.Errorf("after its end: %s", got)
		}
		if events := hooks.take(); len(events) != 1 {
			t.Errorf("told of %v", events)
		}
	})
}

func TestATaskIsNotQuiet(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]string{
		"without an event":              {},
		"while a tool works":            {basicText, basicCall},
		"while one works beside a text": {basicCall, basicText},
		"behind the result of a tool":   {basicText, basicCall, basicResult},
		"behind a result that is merged before the text": {
			basicCall, `{'type':'tool-call','toolCallId':'d','toolName':'sh','input':1,'timestamp':2}`, basicResult, basicText,
			`{'type':'tool-result','toolCallId':'d','toolName':'sh','output':1,'timestamp':3}`,
		},
		"behind an error": {basicText, `{'type':'error','message':'no','timestamp':4}`},
		"with a question": {
			`{'type':'interaction','interactionId':'q','kind':'ask','state':'open','prompt':'Which?','timestamp':1}`, basicText,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			task, _ := k.basicTurn(events...)
			if got := k.after(10*time.Minute, task); got != isBusy {
				t.Error(got)
			}
		})
	}
	t.Run("on a host with events", func(t *testing.T) {
		k := newKit(t)
		k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
			return &protocol.OpenSessionResponse{Token: "t", Capabilities: []string{protocol.CapabilityEvents}}, nil
		}
		task := k.task()
		turn := k.checkIn(task.ID, "go").TurnID
		k.mustSend(task.ID, turn, seqd(1, 1, turn, text("a")))
		if got := k.after(10*time.Minute, task.ID); got != isBusy {
			t.Error(got)
		}
	})
}

// The last turn of a quiet task has failed, and its open one has not.
func TestAQuietTaskIsNotAmongTheFailed(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, turn := k.basicTurn(basicText)
	k.mustSend(task, turn, `{'type':'finish','finishReason':'error','timestamp':5}`)
	if n := k.listed(broker.TaskFailed); n != 1 {
		t.Errorf("%d tasks failed", n)
	}
	k.mustSend(task, k.checkIn(task, "again").TurnID, `{'type':'text','id':'text-1','text':'b','timestamp':6}`)
	if got := k.after(time.Minute, task); got != isQuiet {
		t.Error(got)
	}
	if n := k.listed(broker.TaskFailed); n != 0 {
		t.Errorf("%d tasks failed while a turn is quiet", n)
	}
}

// The queue waits for the end of the turn: the agent may go on.
func TestNoPromptStartsBesideAQuietTurn(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.at.basic = true
	turn := q.checkIn(q.task, "go").TurnID
	q.mustSend(q.task, turn, basicText)
	q.add("next")
	if got := q.after(time.Minute, q.task); got != isQuiet {
		t.Fatal(got)
	}
	q.clock.Advance(10 * time.Minute)
	q.queue.Round(q.ctx)
	q.wantStarted("")
	q.clock.Advance(4 * time.Minute)
	q.upkeep.Sweep(q.ctx)
	same(t, q.ending(q.task), ended(turn, "stop", "no-finish"))
	q.clock.Advance(time.Minute)
	q.queue.Round(q.ctx)
	q.wantStarted("next")
}

// A stream that the broker reads is a sign of life: a text that takes minutes is no silence.
func TestTheBytesOfAStreamMakeAQuietTaskBusy(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, _ := k.basicTurn(basicText)
	k.sessions.Relayer = relayerFunc(func() *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	})
	relayed, err := k.sessions.Relay(k.ctx, &broker.RelayRequest{SessionID: task, Method: http.MethodPost})
	k.must(err)
	reader := relayed.Turn.Reader(k.ctx)
	delta := func() { _, _ = io.WriteString(reader, "data: {\"type\":\"text-delta\",\"text\":\"x\"}\n\n") }
	delta()
	for range 10 {
		if got := k.after(21*time.Second, task); got != isBusy {
			t.Fatalf("while it streams: %s", got)
		}
		delta()
	}
	k.mustSend(task, *k.get(task).OpenTurn, `{'type':'text','id':'text-1','text':'b','timestamp':6}`)
	if got := k.after(time.Minute, task); got != isQuiet {
		t.Errorf("a minute after the text: %s", got)
	}
	delta()
	if got := k.after(0, task); got != isBusy {
		t.Errorf("while it streams again: %s", got)
	}
}
