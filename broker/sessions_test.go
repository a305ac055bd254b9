package broker_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/crypto/token"
	"bellhop/protocol"
)

func TestAttach(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	cursor := "3-41"
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{
			Token: "tok", StreamURL: "https://direct.example/s", StreamCursor: &cursor, Status: "busy", OpenTurn: "t1",
		}, nil
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
	t.Parallel()
	k := newKit(t)
	task := k.task()
	stop := func() (any, any) {
		done, err := k.sessions.Interrupt(k.ctx, k.user.UserID, task.ID, "")
		return done, fault(err)
	}
	k.checkIn(task.ID, "x") // after this the broker knows that the host has events
	done, err := stop()
	same(t, []any{done, err}, `[{'success':true},null]`)
	same(t, k.host.interrupts, `['`+task.ID+`']`)
	k.host.failure = &protocol.Error{
		Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server", Err: errors.New("refused"),
	}
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

func TestRestart(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	k.checkIn(task.ID, "x")
	for name, c := range map[string]struct {
		user    string
		failure error
		want    string
	}{
		"a host that restarts": {
			k.user.UserID, nil, `[{'success':true,'sessionId':'` + task.ID + `','endedTurn':'turn-1'},null]`,
		},
		"a host without the session": {
			k.user.UserID, protocol.Errorf(protocol.CodeNotFound, "Session not found"),
			`[{'success':true,'sessionId':'` + task.ID + `','endedTurn':''},null]`,
		},
		"a host that knows no restarts": {
			k.user.UserID, protocol.Errorf(protocol.CodeMethodNotAllowed, "Not found"),
			`[null,{'code':'bad_gateway','error':'The agent host cannot restart agents','hint':'It is a basic agent server: ` +
				`restart the agent there'}]`,
		},
		"a host that cannot be reached": {
			k.user.UserID, protocol.Errorf(protocol.CodeBadGateway, "Failed to connect to agent server"),
			`[null,{'code':'bad_gateway','error':'Failed to connect to agent server'}]`,
		},
		"another user": {
			k.newUser("eve@example.org", false).UserID, nil, `[null,{'code':'not_found','error':'Task not found'}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k.host.failure = c.failure
			done, err := k.sessions.Restart(k.ctx, c.user, task.ID)
			same(t, []any{done, fault(err)}, c.want)
		})
	}
}

func TestRenew(t *testing.T) {
	t.Parallel()
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
		{
			"another signature", old[:len(old)-4] + "AAAA", "agent-password",
			`{'code':'unauthorized','error':'Invalid or expired token'}`,
		},
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
		k.must(k.delete(k.user.UserID, task.ID))
		_, err := k.sessions.Renew(k.ctx, old, "new-password")
		same(t, fault(err), `{'code':'gone','error':'Task deleted'}`)
	})
}

// A host that could name any origin would choose where script in the console's page may send data.
func TestTheConsoleConnectsToOriginsThatHostsMayName(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.sessions.Origins = []string{"https://agents.example"}
	named := ""
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{Token: "tok", Cursor: req.Cursor, StreamURL: named}, nil
	}
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
		Title: "T", AgentURL: "http://Own.example:7701", AgentPassword: "p",
	})
	k.must(err)
	for _, named = range []string{
		"https://own.example/s",           // the name of its URL, by another scheme and port
		"http://own.example:9000/s",       //
		"https://agents.example/s",        // of the operator's list
		"https://agents.example:8443/s",   // not of the list: another port
		"https://evil.example/s",          // neither
		"https://own.example.evil.test/s", // neither
	} {
		if got := k.checkIn(task.ID, named).StreamURL; got != named {
			t.Errorf("clients that are no console get %q, want %q", got, named)
		}
	}
	origins, err := k.sessions.StreamOrigins(k.ctx, k.user.UserID)
	k.must(err)
	if got, want := strings.Join(origins,
		" "), "http://own.example:9000 https://agents.example https://own.example"; got != want {
		t.Errorf("the console may connect to\n%s, want\n%s", got, want)
	}
}
