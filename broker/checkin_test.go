package broker_test

import (
	"context"
	"encoding/json"
	"errors"
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
		{"no such task", "", protocol.CheckInRequest{TaskID: "nope", Message: "x"}, `{'code':'not_found','error':'Task not found'}`},
		{"another user's task", otherUser.UserID, protocol.CheckInRequest{TaskID: agent, Message: "x"}, `{'code':'not_found','error':'Task not found'}`},
		{"not in agent mode", "", protocol.CheckInRequest{TaskID: chat, Message: "x"}, `{'code':'invalid','error':'Task is not in agent mode'}`},
		{"no URL", "", protocol.CheckInRequest{TaskID: nowhere, Message: "x"}, `{'code':'invalid','error':'Agent URL not configured','hint':'No agent host can be reached; register one, or give the task an agentUrl'}`},
		{"no password", "", protocol.CheckInRequest{TaskID: passwordless, Message: "x"}, `{'code':'invalid','error':'Agent password not configured'}`},
		{
			"no message", "",
			protocol.CheckInRequest{TaskID: agent},
			`{'code':'invalid','error':'message is required','hint':'It may be empty only beside an artifact'}`,
		},
		{
			"a mode that is none", "",
			protocol.CheckInRequest{TaskID: agent, Message: "x", PermissionMode: "yolo"},
			`{'code':'invalid','error':'permissionMode must be plan, ask, accept-edits or auto',` +
				`'hint':'Leave it out to keep the session\u0027s mode, which is ask at first'}`,
		},
		{"message over 1 MiB", "", protocol.CheckInRequest{TaskID: agent, Message: strings.Repeat("x", 1<<20+1)}, `{'code':'invalid','error':'message is longer than 1 MiB'}`},
		{"messageId over 128", "", protocol.CheckInRequest{TaskID: agent, Message: "x", MessageID: strings.Repeat("é", 129)}, `{'code':'invalid','error':'messageId is longer than 128 characters'}`},
		{"21 artifacts", "", protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: make([]protocol.ArtifactInput, 21)}, `{'code':'invalid','error':'There are more than 20 artifacts'}`},
		{"artifact over 256 KiB", "", protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: artifact("A", `"`+strings.Repeat("x", 256<<10)+`"`)}, `{'code':'invalid','error':'artifacts[0].content is larger than 256 KiB'}`},
		{"artifact type", "", protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: artifact("a", `1`)}, `{'code':'invalid','error':'artifacts[0].type must match [A-Z][A-Z0-9_]{0,31}'}`},
		{"TOOL_USE is ours", "", protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: artifact("TOOL_USE", `1`)}, `{'code':'invalid','error':'artifacts[0].type TOOL_USE is reserved'}`},
		{"DIFF is ours", "", protocol.CheckInRequest{TaskID: agent, Message: "x", Artifacts: artifact("DIFF", `1`)}, `{'code':'invalid','error':'artifacts[0].type DIFF is reserved'}`},
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
	same(t, req, `{'sessionId':'`+task.ID+`','webhookUrl':'','brokerId':'broker-1','cursor':{'epoch':4,'seq':2},'agent':'claude','project':'web','title':'x','owner':'`+k.user.UserID+`',
		'turn':{'id':'`+in.TurnID+`','messageId':'`+in.MessageID+`','promptSha256':'2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'}}`)
	message := k.messages(task.ID)[1]
	same(t, message.Artifacts, `[{'id':'`+message.Artifacts[0].ID+`','type':'SELECTION','content':{'line':3}}]`)
	k.checkIn(task.ID, "unbound")
	unbound := k.messages(task.ID)[2]
	same(t, k.host.lastOpen().Turn, `{'id':'`+unbound.TurnID+`','messageId':'`+unbound.ID+`'}`)
}

// A host that does not know modes would work with another one than the user chose.
func TestACheckInChoosesThePermissionMode(t *testing.T) {
	k := newKit(t)
	task := k.task()
	check := func(mode protocol.PermissionMode) error {
		_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "x", PermissionMode: mode})
		return err
	}
	if got := protocol.CodeOf(check(protocol.ModePlan)); got != protocol.CodeInvalid {
		t.Errorf("a host without modes: %q", got)
	}
	messages := k.messages(task.ID)
	if len(messages) != 1 || messages[0].Status != protocol.MessageError {
		t.Errorf("the message counts as sent: %+v", messages)
	}
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{Token: "t", Cursor: req.Cursor, PermissionMode: protocol.ModePlan}, nil
	}
	k.must(check(protocol.ModePlan))
	if got := k.host.lastOpen().PermissionMode; got != protocol.ModePlan {
		t.Errorf("the host was asked for mode %q", got)
	}
	k.must(check("")) // keeps the session's
	if got := k.host.lastOpen().PermissionMode; got != "" {
		t.Errorf("the host was asked for mode %q", got)
	}
}

func TestCheckInFailures(t *testing.T) {
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		refusal := &protocol.Error{Code: protocol.CodeBadGateway, Message: "Failed to create agent session", Hint: "repair it"}
		k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
			if status := k.messages(req.SessionID)[0].Status; status != protocol.MessageSending {
				t.Errorf("the host is called while the message is %s", status)
			}
			return nil, refusal
		}
		task := k.task()
		_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "x", MessageID: "m1"})
		failed := k.messages(task.ID)[0]
		same(t, fault(err), `{'code':'bad_gateway','error':'Failed to create agent session','hint':'repair it','messageId':'m1','turnId':'`+failed.TurnID+`'}`)
		same(t, k.brief(task.ID), `{'status':'none','open':'','messages':[{'role':'USER','turn':'`+failed.TurnID+`','status':'ERROR','text':'x'}]}`)

		// After an error the same message gets another turn.
		k.host.onOpen = nil
		in, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "x", MessageID: "m1"})
		k.must(err)
		if in.MessageID != "m1" || in.TurnID == failed.TurnID {
			t.Errorf("%+v after turn %s", in, failed.TurnID)
		}
		// A repeated finish of the first turn does not change the message.
		k.mustSend(task.ID, "", seqd(1, 1, failed.TurnID, `'type':'finish','finishReason':'other','reason':'not-started'`))
		same(t, k.brief(task.ID), `{'status':'none','open':'','messages':[{'role':'USER','turn':'`+in.TurnID+`','status':'SENT','text':'x'}]}`)
	})
}

func TestCheckInIsIdempotent(t *testing.T) {
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
	same(t, k.brief(task.ID), `{'status':'idle','open':'',
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

func TestMessageStuckInSending(t *testing.T) {
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

func TestAttach(t *testing.T) {
	k := newKit(t)
	task := k.task()
	cursor := "3-41"
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{Token: "tok", StreamURL: "https://direct.example/s", StreamCursor: &cursor, Status: "busy", OpenTurn: "t1"}, nil
	}
	got, err := k.sessions.Attach(k.ctx, k.user.UserID, &protocol.AttachRequest{TaskID: task.ID})
	k.must(err)
	same(t, got, `{'success':true,'sessionId':'`+task.ID+`','streamToken':'tok','streamUrl':'https://direct.example/s',
		'expiresAt':'2026-03-04T05:16:07Z','agentStatus':'busy','streamCursor':'3-41'}`)
	if req := k.host.lastOpen(); !req.Attach || req.Turn != nil {
		t.Errorf("%+v", req)
	}
	if n := len(k.messages(task.ID)); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestInterrupt(t *testing.T) {
	k := newKit(t)
	task := k.task()
	stop := func() (any, any) {
		done, err := k.sessions.Interrupt(k.ctx, k.user.UserID, task.ID)
		return done, fault(err)
	}
	k.checkIn(task.ID, "x") // after this the broker knows that the host has events
	done, err := stop()
	same(t, []any{done, err}, `[{'success':true},null]`)
	same(t, k.host.interrupts, `['`+task.ID+`']`)
	k.host.failure = &protocol.Error{Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server", Err: errors.New("refused")}
	_, err = stop()
	same(t, err, `{'code':'bad_gateway','error':'Failed to connect to agent server'}`)
	k.host.failure = protocol.Errorf(protocol.CodeMethodNotAllowed, "Not found")
	_, err = stop()
	same(t, err, `{'code':'bad_gateway','error':'The agent host cannot interrupt','hint':'Check the agent URL: nothing `+
		`there answers as an agent host'}`)
	k.host.failure = protocol.Errorf(protocol.CodeNotFound, "Session not found")
	done, err = stop()
	same(t, []any{done, err}, `[{'success':true},null]`)
}

func TestRenew(t *testing.T) {
	k := newKit(t)
	task := k.task()
	in := k.checkIn(task.ID, "x")
	hook, err := url.Parse(k.host.lastOpen().WebhookURL)
	k.must(err)
	old := hook.Query().Get("token")
	k.clock.Advance(72 * time.Hour)
	renewed, err := k.sessions.Renew(k.ctx, old, "agent-password")
	k.must(err)
	fresh, err := url.Parse(renewed.WebhookURL)
	k.must(err)
	secret, err := k.ingest.Secret(k.ctx, task.ID)
	k.must(err)
	claims, err := token.Verify(fresh.Query().Get("token"), secret, k.clock.Now())
	k.must(err)
	if claims.TurnID != in.TurnID || !renewed.ExpiresAt.Equal(claims.ExpiresAt) {
		t.Errorf("%+v, %+v", claims, renewed)
	}
	cases := []struct{ rule, token, password, want string }{
		{"wrong password", old, "wrong", `{'code':'unauthorized','error':'Wrong agent password'}`},
		{"no password", old, "", `{'code':'unauthorized','error':'Wrong agent password'}`},
		{"not a token", "x", "agent-password", `{'code':'invalid','error':'Invalid token format'}`},
		{"another signature", old[:len(old)-4] + "AAAA", "agent-password", `{'code':'unauthorized','error':'Invalid or expired token'}`},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			_, err := k.sessions.Renew(k.ctx, c.token, c.password)
			same(t, fault(err), c.want)
		})
	}
	t.Run("AUTH-5 the former password is good for 24 h more", func(t *testing.T) {
		next := "new-password"
		_, err := k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{AgentPassword: &next})
		k.must(err)
		k.checkIn(task.ID, "y")
		same(t, k.host.lastPasswords(), `['new-password','agent-password']`)
		_, err = k.sessions.Renew(k.ctx, old, "agent-password")
		k.must(err)
		k.clock.Advance(24 * time.Hour)
		_, err = k.sessions.Renew(k.ctx, old, "agent-password")
		same(t, fault(err), `{'code':'unauthorized','error':'Wrong agent password'}`)
		_, err = k.sessions.Renew(k.ctx, old, "new-password")
		k.must(err)
	})
	t.Run("a password-less task's token renews itself for 24 h", func(t *testing.T) {
		k.targets.CustomAgentURL = "http://127.0.0.1:1"
		bare, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "x"})
		k.must(err)
		k.checkIn(bare.ID, "x")
		hook, err := url.Parse(k.host.lastOpen().WebhookURL)
		k.must(err)
		k.clock.Advance(23 * time.Hour)
		_, err = k.sessions.Renew(k.ctx, hook.Query().Get("token"), "")
		k.must(err)
		k.clock.Advance(2 * time.Hour)
		_, err = k.sessions.Renew(k.ctx, hook.Query().Get("token"), "")
		same(t, fault(err), `{'code':'unauthorized','error':'Invalid or expired token'}`)
	})
	t.Run("a deleted task is gone", func(t *testing.T) {
		k.must(k.tasks.Delete(k.ctx, k.user.UserID, task.ID))
		_, err := k.sessions.Renew(k.ctx, old, "new-password")
		same(t, fault(err), `{'code':'gone','error':'Task deleted'}`)
	})
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
