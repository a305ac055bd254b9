package broker_test

import (
	"context"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/token"
	"bellhop/protocol"
)

func TestCheckInRefuses(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	agent := k.task().ID
	create := func(req protocol.CreateTaskRequest) string {
		task, err := k.tasks.Create(k.ctx, k.user, &req)
		k.must(err)
		return task.ID
	}
	chat := create(protocol.CreateTaskRequest{Title: "x", Mode: "chat", AgentURL: "https://a.example", AgentPassword: "p"})
	nowhere := create(protocol.CreateTaskRequest{Title: "x", AgentPassword: "p"})
	passwordless := create(protocol.CreateTaskRequest{Title: "x", AgentURL: "https://a.example"})
	otherUser := k.newUser("eve@example.org", false)
	artifact := func(kind, content string) []protocol.ArtifactInput {
		return []protocol.ArtifactInput{{Type: kind, Content: json.RawMessage(content)}}
	}
	cases := []struct {
		rule string
		user string
		req  protocol.CheckInRequest
		want string
	}{
		{"no taskId", "", protocol.CheckInRequest{Message: "x"}, `{'code':'invalid','error':'taskId is required'}`},
		{
			"no such task", "",
			protocol.CheckInRequest{TaskID: "nope", Message: "x"},
			`{'code':'not_found','error':'Task not found'}`,
		},
		{
			"another user's task", otherUser.UserID,
			protocol.CheckInRequest{TaskID: agent, Message: "x"},
			`{'code':'not_found','error':'Task not found'}`,
		},
		{
			"not in agent mode", "",
			protocol.CheckInRequest{TaskID: chat, Message: "x"},
			`{'code':'invalid','error':'Task is not in agent mode'}`,
		},
		{
			"no URL", "",
			protocol.CheckInRequest{TaskID: nowhere, Message: "x"},
			`{'code':'invalid','error':'Agent URL not configured','hint':'No agent host can be reached; register one, or give the task an agentUrl'}`,
		},
		{
			"no password", "",
			protocol.CheckInRequest{TaskID: passwordless, Message: "x"},
			`{'code':'invalid','error':'Agent password not configured'}`,
		},
		{
			"no message", "",
			protocol.CheckInRequest{TaskID: agent},
			`{'code':'invalid','error':'message is required','hint':'It may be empty only beside an artifact'}`,
		},
		{
			"an unknown permission mode", "",
			protocol.CheckInRequest{TaskID: agent, Message: "x", PermissionMode: "yolo"},
			`{'code':'invalid','error':'permissionMode must be plan, ask, accept-edits or auto',` +
				`'hint':'Leave it out to keep the session\u0027s mode, which is ask at first'}`,
		},
		{
			"message over 1 MiB", "",
			protocol.CheckInRequest{TaskID: agent, Message: strings.Repeat("x", 1<<20+1)},
			`{'code':'invalid','error':'message is longer than 1 MiB'}`,
		},
		{
			"messageId over 128", "",
			protocol.CheckInRequest{TaskID: agent, Message: "x", MessageID: strings.Repeat("é", 129)},
			`{'code':'invalid','error':'messageId is longer than 128 characters'}`,
		},
		{
			"21 artifacts", "",
			protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: make([]protocol.ArtifactInput, 21)},
			`{'code':'invalid','error':'There are more than 20 artifacts'}`,
		},
		{
			"artifact over 256 KiB", "",
			protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: artifact("A", `"`+strings.Repeat("x", 256<<10)+`"`)},
			`{'code':'invalid','error':'artifacts[0].content is larger than 256 KiB'}`,
		},
		{
			"artifact type", "",
			protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: artifact("a", `1`)},
			`{'code':'invalid','error':'artifacts[0].type must match [A-Z][A-Z0-9_]{0,31}'}`,
		},
		{
			"TOOL_USE is ours", "",
			protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: artifact("TOOL_USE", `1`)},
			`{'code':'invalid','error':'artifacts[0].type TOOL_USE is reserved'}`,
		},
		{
			"DIFF is ours", "",
			protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: artifact("DIFF", `1`)},
			`{'code':'invalid','error':'artifacts[0].type DIFF is reserved'}`,
		},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			user := c.user
			if user == "" {
				user = k.user.UserID
			}
			_, err := k.sessions.CheckIn(k.ctx, user, &c.req)
			same(t, fault(err), c.want)
		})
	}
	if len(k.host.opened) != 0 || len(k.messages(agent)) != 0 {
		t.Errorf("%d sessions, %d messages", len(k.host.opened), len(k.messages(agent)))
	}
}

func TestCheckInAsksTheHost(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
		Title: "x", Agent: "claude", Project: "web", AgentURL: "https://agent.example//", AgentPassword: "p",
	})
	k.must(err)
	k.mustSend(task.ID, "", seqd(4, 1, "old", text("x")), seqd(4, 2, "old", finishStop))
	in, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{
		TaskID: task.ID, Message: "hello", BindPrompt: true,
		Artifacts: []protocol.ArtifactInput{{Type: "SELECTION", Content: json.RawMessage(`{"line": 3}`)}},
	})
	k.must(err)
	req := *k.host.lastOpen()
	hook, err := url.Parse(req.WebhookURL)
	k.must(err)
	secret, err := k.ingest.Secret(k.ctx, task.ID)
	k.must(err)
	claims, err := token.Verify(hook.Query().Get("token"), secret, start)
	k.must(err)
	if claims.TaskID != task.ID || claims.TurnID != in.TurnID || claims.ExpiresAt.Sub(claims.IssuedAt) != 10*time.Minute {
		t.Errorf("claims %+v", claims)
	}
	if !strings.HasPrefix(req.WebhookURL, "https://broker.example/api/agent/webhook?token=") {
		t.Errorf("webhook URL %s", req.WebhookURL)
	}
	req.WebhookURL = ""
	same(t, req,
		`{'sessionId':'`+task.ID+
			`','webhookUrl':'','brokerId':'broker-1','namedAnswers':true,'cursor':{'epoch':4,'seq':2},'agent':'claude','project':'web','title':'x','owner':'`+k.user.UserID+`',
		'turn':{'id':'`+in.TurnID+`','messageId':'`+in.MessageID+`','rev':3,'promptSha256':'2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'}}`)
	message := k.messages(task.ID)[1]
	same(t, message.Artifacts, `[{'id':'`+message.Artifacts[0].ID+`','type':'SELECTION','content':{'line':3}}]`)
	k.checkIn(task.ID, "unbound")
	unbound := k.messages(task.ID)[2]
	same(t, k.host.lastOpen().Turn, `{'id':'`+unbound.TurnID+`','messageId':'`+unbound.ID+`','rev':5}`)
}

func TestCheckInFailures(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		refusal := &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "Failed to create agent session", Hint: "repair it",
		}
		k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
			if status := k.messages(req.SessionID)[0].Status; status != protocol.MessageSending {
				t.Errorf("the host is called while the message is %s", status)
			}
			return nil, refusal
		}
		task := k.task()
		_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{
			TaskID: task.ID, Message: "x", MessageID: "m1",
		})
		failed := k.messages(task.ID)[0]
		same(t, fault(err),
			`{'code':'bad_gateway','error':'Failed to create agent session','hint':'repair it','messageId':'m1','turnId':'`+
				failed.TurnID+`'}`)
		same(t, k.brief(task.ID),
			`{'status':'none','open':'','messages':[{'role':'USER','turn':'`+failed.TurnID+`','status':'ERROR','text':'x'}]}`)

		// After an error the same message gets another turn.
		k.host.onOpen = nil
		in, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{
			TaskID: task.ID, Message: "x", MessageID: "m1",
		})
		k.must(err)
		if in.MessageID != "m1" || in.TurnID == failed.TurnID {
			t.Errorf("%+v after turn %s", in, failed.TurnID)
		}
		// A repeated finish of the first turn does not change the message.
		k.mustSend(task.ID, "", seqd(1, 1, failed.TurnID, `'type':'finish','finishReason':'other','reason':'not-started'`))
		same(t, k.brief(task.ID),
			`{'status':'none','open':'','messages':[{'role':'USER','turn':'`+in.TurnID+`','status':'SENT','text':'x'}]}`)
	})
}

func TestCheckInIsIdempotent(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	req := protocol.CheckInRequest{
		TaskID: task.ID, Message: "x", MessageID: "m1",
		Artifacts: []protocol.ArtifactInput{{Type: "A", Content: json.RawMessage(`{"b":1,"a":2}`)}},
	}
	first, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &req)
	k.must(err)
	req.Artifacts = []protocol.ArtifactInput{{Type: "A", Content: json.RawMessage(`{"a":2, "b":1.0}`)}}
	again, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &req)
	k.must(err)
	if !reflect.DeepEqual(first, again) || len(k.host.opened) != 2 || k.host.lastOpen().Turn.ID != first.TurnID {
		t.Errorf("%+v\n%+v", first, again)
	}
	if n := len(k.messages(task.ID)); n != 1 {
		t.Errorf("%d messages", n)
	}
	req.Message = "y"
	_, err = k.sessions.CheckIn(k.ctx, k.user.UserID, &req)
	same(t, fault(err), `{'code':'conflict','error':'Another message has this messageId'}`)

	other := k.task()
	req.TaskID = other.ID
	if _, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &req); err != nil {
		t.Errorf("the same messageId in another task: %v", err)
	}
}

func TestCheckInWithCustomURL(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.targets.CustomAgentURL = "http://127.0.0.1:9000/"
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "x"})
	k.must(err)
	in := k.checkIn(task.ID, "x")
	if want := "http://127.0.0.1:9000/stream/" + task.ID; in.StreamURL != want {
		t.Errorf("stream URL %s", in.StreamURL)
	}
	if n := len(k.host.lastPasswords()); n != 0 {
		t.Errorf("%d passwords", n)
	}
}

func TestCheckInOnABasicHost(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{Token: "basic"}, nil
	}
	task := k.task()
	first := k.checkIn(task.ID, "one")
	if want := start.Add(10 * time.Minute).Truncate(time.Second); !first.ExpiresAt.Equal(want) {
		t.Errorf("expires %s", first.ExpiresAt)
	}
	k.mustSend(task.ID, first.TurnID, `{'type':'text','id':'text-1','text':'a','timestamp':1}`)
	k.clock.Advance(time.Minute)
	second := k.checkIn(task.ID, "two")
	same(t, k.brief(task.ID), `{'status':'busy','open':'`+second.TurnID+`',
		'last':{'id':'`+first.TurnID+`','finishReason':'stop','reason':'no-finish','usage':null},'messages':[
		{'role':'USER','turn':'`+first.TurnID+`','status':'SENT','text':'one'},
		{'role':'ASSISTANT','turn':'`+first.TurnID+`','status':'SENT','text':'a'},
		{'role':'USER','turn':'`+second.TurnID+`','status':'SENT','text':'two'}]}`)
	k.mustSend(task.ID, second.TurnID, `{'type':'text','id':'text-1','text':'b','timestamp':2}`)
	k.clock.Advance(14 * time.Minute)
	k.upkeep.Sweep(k.ctx)
	if open := openTurn(k.get(task.ID)); open != second.TurnID {
		t.Errorf("after 14 minutes the open turn is %q", open)
	}
	k.clock.Advance(time.Minute)
	k.upkeep.Sweep(k.ctx)
	same(t, k.get(task.ID).LastTurn, `{'id':'`+second.TurnID+`','finishReason':'stop','reason':'no-finish','usage':null}`)
}

// lockingStore counts the transactions that lock a task.
type lockingStore struct {
	*store.Store
	locks int
}

func (s *lockingStore) LockTask(ctx context.Context, id string) (*broker.Task, error) {
	s.locks++
	return s.Store.LockTask(ctx, id)
}

// On PostgreSQL a new message takes one statement; only its outcome needs a transaction.
func TestANewMessageIsStoredInOneStatement(t *testing.T) {
	t.Parallel()
	k := kitOn(t, storetest.OpenPostgres(t))
	task := k.task()
	watched := &lockingStore{Store: k.store}
	k.updater.Store = watched
	k.checkIn(task.ID, "one")
	if watched.locks != 1 {
		t.Errorf("%d transactions locked the task, want 1: the outcome's", watched.locks)
	}
	if last := k.messages(task.ID)[0]; k.notified.rev(task.ID) != last.Rev || last.Status != protocol.MessageSent {
		t.Errorf("notified of rev %d, the message is %+v", k.notified.rev(task.ID), last)
	}
}
