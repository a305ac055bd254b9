package broker_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// basicTask is a task on a basic host, with a turn that has posted a text and a call.
func (k *kit) basicTask() (taskID, turnID string) {
	k.t.Helper()
	k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{Token: "basic"}, nil
	}
	task := k.task()
	in := k.checkIn(task.ID, "go")
	k.mustSend(task.ID, in.TurnID, `{'type':'text','id':'text-1','text':'a','timestamp':1}`)
	k.mustSend(task.ID, in.TurnID, `{'type':'tool-call','toolCallId':'c','toolName':'sh','input':1,'timestamp':2}`)
	return task.ID, in.TurnID
}

// ending returns the task's status and its last turn.
func (k *kit) ending(id string) any {
	task := k.get(id)
	return map[string]any{
		"status": task.AgentStatus, "open": task.OpenTurn, "last": task.LastTurn, "basic": task.BasicHost,
	}
}

func ended(turn, finish, reason string) string {
	return `{'status':'idle','open':null,'basic':true,'last':{'id':'` + turn + `','finishReason':'` + finish +
		`','reason':'` + reason + `','usage':null}}`
}

func TestTheEndOfABasicHostsTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end            func(k *kit, task, turn string)
		finish, reason string
	}{
		"a posted finish": {func(k *kit, task, turn string) {
			k.mustSend(task, turn, `{'type':'finish','finishReason':'length','timestamp':3}`)
		}, "length", ""},
		"the frontend's report": {func(k *kit, task, turn string) {
			k.must(k.sessions.Finish(k.ctx, k.user.UserID, &protocol.FinishTurnRequest{TaskID: task, TurnID: turn}))
		}, "stop", ""},
		"a report of an error": {func(k *kit, task, turn string) {
			k.must(k.sessions.Finish(k.ctx, k.user.UserID, &protocol.FinishTurnRequest{
				TaskID: task, TurnID: turn, FinishReason: protocol.FinishError, Reason: "no model",
			}))
		}, "error", "no model"},
		"15 minutes of silence": {func(k *kit, _, _ string) {
			k.clock.Advance(15 * time.Minute)
			k.upkeep.Sweep(k.ctx)
		}, "stop", "no-finish"},
		"an error without a finish, then silence": {func(k *kit, task, turn string) {
			k.mustSend(task, turn, `{'type':'error','message':'no model','timestamp':3}`)
			k.clock.Advance(15 * time.Minute)
			k.upkeep.Sweep(k.ctx)
		}, "other", "no model"},
		"a stop": {func(k *kit, task, _ string) {
			k.host.failure = protocol.Errorf(protocol.CodeMethodNotAllowed, "no such route")
			done, err := k.sessions.Interrupt(k.ctx, k.user.UserID, task, "")
			k.must(err)
			same(k.t, done, `{'success':true,'closeStream':true}`)
		}, "other", "aborted"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			task, turn := k.basicTask()
			same(t, k.get(task).OpenTurn, `'`+turn+`'`)
			c.end(k, task, turn)
			same(t, k.ending(task), ended(turn, c.finish, c.reason))
			if tool := string(k.messages(task)[2].Artifacts[0].Content); !strings.Contains(tool, `"state":"unknown"`) {
				t.Errorf("the tool that never answered is %s", tool)
			}
			k.mustSend(task, turn, `{'type':'text','id':'text-2','text':'late','timestamp':4}`)
			if got := k.get(task); got.OpenTurn != nil || k.messages(task)[len(k.messages(task))-1].Message != "late" {
				t.Errorf("a late text opens the turn again, or is lost: %+v", got)
			}
		})
	}
}

// A basic host says nothing when a turn begins: its turn is open from its check-in on.
func TestABasicHostsTurnIsOpenFromItsCheckInOn(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, first := k.basicTask()
	k.clock.Advance(time.Minute)
	next := k.checkIn(task, "more").TurnID
	open := `{'status':'busy','open':'` + next + `','basic':true,'last':{'id':'` + first +
		`','finishReason':'stop','reason':'no-finish','usage':null}}`
	same(t, k.ending(task), open)
	if found, err := k.tasks.List(k.ctx, k.user.UserID, broker.TaskQuery{State: broker.TaskWorking}); err != nil ||
		len(found.Tasks) != 1 {
		t.Errorf("of the tasks that work: %+v, %v", found, err)
	}
	k.clock.Advance(15 * time.Minute)
	k.upkeep.Sweep(k.ctx)
	same(t, k.ending(task), ended(next, "other", "no-finish")) // it sent nothing
	last := k.checkIn(task, "still more").TurnID
	k.mustSend(task, next, `{'type':'text','id':'text-2','text':'late','timestamp':4}`)
	if open := openTurn(k.get(task)); open != last {
		t.Errorf("after a late text of an earlier turn the open turn is %q", open)
	}
}

func TestATextNeverEndsABasicHostsTurn(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, turn := k.basicTask()
	k.clock.Advance(14*time.Minute + 59*time.Second)
	k.upkeep.Sweep(k.ctx)
	k.mustSend(task, turn, `{'type':'text','id':'text-2','text':'b','timestamp':3}`)
	k.clock.Advance(14*time.Minute + 59*time.Second)
	k.upkeep.Sweep(k.ctx)
	same(t, k.get(task).OpenTurn, `'`+turn+`'`)
}

func TestAReportOfAnEndIsChecked(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, turn := k.basicTask()
	eve := k.newUser("eve@example.org", false)
	for name, c := range map[string]struct {
		user string
		req  protocol.FinishTurnRequest
		want string
	}{
		"no task": {
			k.user.UserID,
			protocol.FinishTurnRequest{TurnID: turn},
			`{'code':'invalid','error':'taskId is required'}`,
		},
		"no turn": {
			k.user.UserID,
			protocol.FinishTurnRequest{TaskID: task},
			`{'code':'invalid','error':'turnId is required'}`,
		},
		"another user": {
			eve.UserID, protocol.FinishTurnRequest{TaskID: task, TurnID: turn}, `{'code':'not_found','error':'Task not found'}`,
		},
		"an unknown turn": {
			k.user.UserID,
			protocol.FinishTurnRequest{TaskID: task, TurnID: "x"},
			`{'code':'not_found','error':'The task has no such turn'}`,
		},
		"an unknown reason": {
			k.user.UserID,
			protocol.FinishTurnRequest{TaskID: task, TurnID: turn, FinishReason: "done"},
			`{'code':'invalid','error':'finishReason is unknown','hint':'Send stop, length, content-filter, tool-calls, ` +
				`error or other'}`,
		},
		"a long reason": {
			k.user.UserID,
			protocol.FinishTurnRequest{TaskID: task, TurnID: turn, Reason: strings.Repeat("x", 2001)},
			`{'code':'invalid','error':'reason is longer than 2000 bytes'}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, fault(k.sessions.Finish(k.ctx, c.user, &c.req)), c.want)
			same(t, k.get(task).OpenTurn, `'`+turn+`'`)
		})
	}
	report := &protocol.FinishTurnRequest{TaskID: task, TurnID: turn}
	k.must(k.sessions.Finish(k.ctx, k.user.UserID, report))
	report.FinishReason = protocol.FinishError
	k.must(k.sessions.Finish(k.ctx, k.user.UserID, report)) // the first report counts
	same(t, k.ending(task), ended(turn, "stop", ""))

	k.host.onOpen = nil // a host that reports its turns
	other := k.task()
	in := k.checkIn(other.ID, "go")
	same(t, fault(k.sessions.Finish(k.ctx, k.user.UserID,
		&protocol.FinishTurnRequest{TaskID: other.ID, TurnID: in.TurnID})),
		`{'code':'conflict','error':'The agent host reports the end of its turns itself','hint':'Only the turns of basic `+
			`hosts are reported: those whose check-in names no capabilities'}`)
}

// relayerFunc is a Relayer without a network.
type relayerFunc func() *http.Response

func (f relayerFunc) Relay(context.Context, broker.Target, *broker.RelayRequest) (*http.Response, error) {
	return f(), nil
}

func TestTheEndOfARelayedStreamEndsABasicHostsTurn(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string][2]string{
		"data: {\"type\":\"finish\",\"finishReason\":\"length\"}\n\n": {"length", ""},
		"data:{\"type\":\"finish\"}\r\n\r\ndata: [DONE]\n\n":          {"stop", ""},
		"data: {\"type\":\"finish\",\"finishReason\":\"7\"}\n\n":      {"stop", ""},
		"data: {\"type\":\"text-delta\",\"text\":\"x\"}\n\n":          {"stop", ""},
		"data: {\"type\":\"abort\"}\n\n":                              {"other", "aborted"},
		"data: {\"type\":\"error\",\"error\":\"no model\"}\n\n": {
			"error", "no model",
		},
		"data: {\"type\":\"error\",\"error\":{\"message\":\"no\\u0000key\"}}\n\n": {
			"error", "no\uFFFDkey",
		},
		"data: {\"x\":\"" + strings.Repeat("x", 70<<10) + "\"}\ndata: {\"type\":\"finish\"}\n\n: end\n": {"stop", ""},
	} {
		k := newKit(t)
		task, turn := k.basicTask()
		k.sessions.Relayer = relayerFunc(func() *http.Response {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader(stream)),
			}
		})
		got, err := k.sessions.Relay(k.ctx, &broker.RelayRequest{SessionID: task, Method: http.MethodPost})
		k.must(err)
		if got.Turn.IsClosed(k.ctx) {
			t.Error("closed before its end")
		}
		for _, piece := range []string{stream[:len(stream)/2], stream[len(stream)/2:]} {
			_, _ = got.Turn.Reader(k.ctx).Write([]byte(piece))
		}
		k.must(got.Turn.Ended(k.ctx))
		same(t, k.ending(task), ended(turn, want[0], want[1]))
		if !got.Turn.IsClosed(k.ctx) {
			t.Error("not closed after its end")
		}
		for _, req := range []broker.RelayRequest{{Method: http.MethodGet}, {Method: http.MethodPost}} {
			req.SessionID = task
			if again, err := k.sessions.Relay(k.ctx, &req); err != nil || again.Turn != nil {
				t.Errorf("%s: another turn of a task without one: %v, %v", req.Method, again, err)
			}
		}
	}
}

func TestACheckInWithAnArtifactAlone(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	for _, content := range []json.RawMessage{nil, json.RawMessage("null")} {
		_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{
			TaskID: task.ID, MessageID: "m", Artifacts: []protocol.ArtifactInput{{Type: "PING", Content: content}},
		})
		k.must(err)
	}
	rows := k.messages(task.ID)
	if len(rows) != 1 || rows[0].Message != "" || string(rows[0].Artifacts[0].Content) != "null" {
		t.Errorf("stored are %+v", rows)
	}
}
