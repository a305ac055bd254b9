package broker_test

import (
	"context"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

// shipper is a ShipLink that records its requests.
type shipper struct {
	commits []protocol.CommitRequest
	own     []*broker.ForgeToken // of pushes, fetches and pull requests
	leave   context.CancelFunc   // ends the caller's request while the host works, unless nil
	fail    error
}

func (s *shipper) Commit(
	ctx context.Context, _ broker.Target, id string, req *protocol.CommitRequest,
) (*protocol.CommitResponse, error) {
	s.commits = append(s.commits, *req)
	if s.leave != nil {
		s.leave()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.fail != nil {
		return nil, s.fail
	}
	return &protocol.CommitResponse{Success: true, SessionID: id, Commit: "c0ffee", Branch: "bellhop/1\x00", Files: 2}, nil
}

func (s *shipper) Discard(
	_ context.Context, _ broker.Target, id string, req *protocol.DiscardRequest,
) (*protocol.DiscardResponse, error) {
	return &protocol.DiscardResponse{Success: true, SessionID: id, Files: max(1, len(req.Paths))}, s.fail
}

func (s *shipper) Push(
	_ context.Context, _ broker.Target, id string, req *protocol.PushRequest, own *broker.ForgeToken,
) (*protocol.PushResponse, error) {
	s.own = append(s.own, own)
	if s.fail != nil {
		return nil, s.fail
	}
	return &protocol.PushResponse{
		Success: true, SessionID: id, Commit: "c0ffee", Branch: "bellhop/1\x00", Remote: "https://example.org/shop.git",
		Replaced: req.Replaces,
	}, nil
}

func (s *shipper) Fetch(
	_ context.Context, _ broker.Target, id string, own *broker.ForgeToken,
) (*protocol.FetchResponse, error) {
	s.own = append(s.own, own)
	if s.fail != nil {
		return nil, s.fail
	}
	return &protocol.FetchResponse{
		Success: true, SessionID: id, Branch: "bellhop/1\x00", Base: "main", BaseCommit: "c0ffee",
	}, nil
}

func TestCommitsOfTheRemoteAreFetchedAlsoWhileTheAgentWorks(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &shipper{}
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: link}
	task := k.task()
	ctx := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: k.user.UserID})
	in := k.checkIn(task.ID, "hi")
	k.mustSend(task.ID, in.TurnID, seqd(1, 1, in.TurnID, `'type':'text','id':'a','text':'working'`))
	done, err := ships.Fetch(ctx, k.user.UserID, task.ID)
	k.must(err)
	same(t, done, `{'success':true,'sessionId':'`+task.ID+`','branch':'bellhop/1`+"\uFFFD"+
		`','base':'main','diverged':'','baseCommit':'c0ffee'}`)
	_, err = ships.Fetch(ctx, k.newUser("eve@example.org", false).UserID, task.ID)
	if protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("another user: %v", err)
	}
	link.fail = protocol.Errorf(protocol.CodeMethodNotAllowed, "x")
	if _, err = ships.Fetch(ctx, k.user.UserID, task.ID); protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("a host that does not fetch: %v", err)
	}
	k.wantAudit(`task.fetched by user ada on task ` + task.ID +
		` {"base":"main","baseCommit":"c0ffee","branch":"bellhop/1` + "\uFFFD" + `"}`)
}

func TestAPushIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &shipper{}
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: link}
	task := k.task()
	ctx := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: k.user.UserID})
	push := func(user, replaces string) (*protocol.PushResponse, error) {
		return ships.Push(ctx, user, task.ID, &protocol.PushRequest{Replaces: replaces})
	}
	done, err := push(k.user.UserID, "")
	k.must(err)
	same(t, done, `{'success':true,'sessionId':'`+task.ID+`','commit':'c0ffee','branch':'bellhop/1`+"\uFFFD"+
		`','remote':'https://example.org/shop.git','replaced':''}`)
	old := strings.Repeat("a", 40)
	_, err = push(k.user.UserID, old)
	k.must(err)
	for name, c := range map[string]struct {
		user, replaces string
		fail           error
		want           protocol.Code
	}{
		"another user": {k.newUser("eve@example.org", false).UserID, "", nil, protocol.CodeNotFound},
		"no commit":    {k.user.UserID, "main", nil, protocol.CodeInvalid},
		"another's commit": {
			k.user.UserID, "", protocol.Errorf(protocol.CodeDivergedBranch, "x"), protocol.CodeDivergedBranch,
		},
		"a host that does not push": {
			k.user.UserID, "", protocol.Errorf(protocol.CodeMethodNotAllowed, "x"), protocol.CodeBadGateway,
		},
	} {
		link.fail = c.fail
		if _, err := push(c.user, c.replaces); protocol.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	at := `task.pushed by user ada on task ` + task.ID + ` {"branch":"bellhop/1` + "\uFFFD" +
		`","commit":"c0ffee","remote":"https://example.org/shop.git"`
	k.wantAudit(at+`}`, at+`,"replaced":"`+old+`"}`)
}

func (s *shipper) PullRequest(
	_ context.Context, _ broker.Target, id string, req *protocol.PullRequestRequest, own *broker.ForgeToken,
) (*protocol.PullRequestResponse, error) {
	s.own = append(s.own, own)
	if s.fail != nil {
		return nil, s.fail
	}
	return &protocol.PullRequestResponse{
		Success: true, SessionID: id, URL: req.Body, Number: 7, Created: true, Branch: "bellhop/1\x00", Base: "main",
	}, nil
}

func TestAPullRequestIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &shipper{}
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: link}
	task := k.task()
	ctx := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: k.user.UserID})
	request := func(user, title, link string) (*protocol.PullRequestResponse, error) {
		return ships.PullRequest(ctx, user, task.ID, &protocol.PullRequestRequest{Title: title, Body: link})
	}
	done, err := request(k.user.UserID, "Work", "https://example.org/pulls/7")
	k.must(err)
	same(t, done, `{'success':true,'sessionId':'`+task.ID+`','url':'https://example.org/pulls/7','number':7,'created':true,`+
		`'branch':'bellhop/1`+"\uFFFD"+`','base':'main'}`)
	done, err = request(k.user.UserID, "Work", "javascript:alert(1)")
	k.must(err)
	if done.URL != "" {
		t.Errorf("a link of a hostile host: %s", done.URL)
	}
	_, err = request(k.user.UserID, " ", "")
	if protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("no title: %v", err)
	}
	_, err = request(k.newUser("eve@example.org", false).UserID, "Work", "")
	if protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("another user: %v", err)
	}
	at := `task.requested by user ada on task ` + task.ID + ` {"base":"main","branch":"bellhop/1` + "\uFFFD" +
		`","created":"true","url":"`
	k.wantAudit(at+`https://example.org/pulls/7"}`, at+`"}`)
}

func TestDiscardedChangesAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &shipper{}
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: link}
	task := k.task()
	ctx := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: k.user.UserID})
	hunk := &protocol.DiscardHunk{Path: "a.txt", Text: "@@ -1 +1 @@\n-a\n+b\n"}
	_, err := ships.Discard(ctx, k.user.UserID, task.ID, &protocol.DiscardRequest{Hunk: hunk})
	k.must(err)
	_, err = ships.Discard(ctx, k.user.UserID, task.ID, &protocol.DiscardRequest{Hunk: hunk, Paths: []string{"a.txt"}})
	if protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("a hunk and paths: %v", err)
	}
	discard := func(user string, paths ...string) (any, error) {
		return ships.Discard(ctx, user, task.ID, &protocol.DiscardRequest{Paths: paths})
	}
	done, err := discard(k.user.UserID, "a.txt", "b.txt")
	k.must(err)
	same(t, done, `{'success':true,'sessionId':'`+task.ID+`','files':2}`)
	if _, err = discard(k.user.UserID, "../a.txt"); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("outside: %v", err)
	}
	eve := k.newUser("eve@example.org", false).UserID
	if _, err = discard(eve, "a.txt"); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("another user: %v", err)
	}
	link.fail = protocol.Errorf(protocol.CodeConflict, "no file")
	if _, err = discard(k.user.UserID, "a.txt"); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("refused: %v", err)
	}
	at := `task.discarded by user ada on task ` + task.ID
	k.wantAudit(at+` {"files":"1","hunks":"1"}`, at+` {"files":"2"}`)
}

func TestACommitIsTheUsersAndInTheAuditLog(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &shipper{}
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: link}
	task := k.task()
	ctx := broker.WithActor(k.ctx, protocol.AuditActor{Kind: protocol.AuditByUser, ID: k.user.UserID})
	commit := func(user, message string) (*protocol.CommitResponse, error) {
		return ships.Commit(ctx, user, task.ID, &protocol.CommitTaskRequest{Message: message})
	}
	in := k.checkIn(task.ID, "hi")
	k.mustSend(task.ID, in.TurnID, seqd(1, 1, in.TurnID, `'type':'text','id':'a','text':'working'`))
	_, err := commit(k.user.UserID, "Work")
	same(t, fault(err), `{'code':'busy','error':'The agent works on a message','hint':'Wait until it has finished, or stop it'}`)
	k.mustSend(task.ID, in.TurnID, seqd(1, 2, in.TurnID, `'type':'finish','finishReason':'stop'`))

	done, err := commit(k.user.UserID, "Work\n\n")
	k.must(err)
	same(t, done, `{'success':true,'sessionId':'`+task.ID+`','commit':'c0ffee','branch':'bellhop/1`+"\uFFFD"+`','files':2,'additions':0,'deletions':0}`)
	user, err := k.store.User(k.ctx, k.user.UserID)
	k.must(err)
	if got := link.commits[0]; len(link.commits) != 1 || got.Message != "Work\n" || got.Author.Email != user.Email ||
		got.Author.Name+"@example.org" != user.Email {
		t.Errorf("%+v", link.commits)
	}
	for name, c := range map[string]struct {
		user, message string
		fail          error
		want          string
	}{
		"another user": {
			k.newUser("eve@example.org", false).UserID, "Work", nil, `{'code':'not_found','error':'Task not found'}`,
		},
		"no message": {
			k.user.UserID, " ", nil,
			`{'code':'invalid','error':'The commit message is empty','hint':'Say in one line what the changes do'}`,
		},
		"a host that does not commit": {
			k.user.UserID, "Work", protocol.Errorf(protocol.CodeMethodNotAllowed, "no"),
			`{'code':'bad_gateway','error':'The agent host ships no work of tasks','hint':'It is a basic agent server: ` +
				`do it there'}`,
		},
		"a host without the session": {
			k.user.UserID, "Work", protocol.Errorf(protocol.CodeNotFound, "no"),
			`{'code':'conflict','error':'The agent host has no session of this task','hint':'Send a message first: ` +
				`the agent works in a workspace from its first turn on'}`,
		},
		"nothing to commit": {
			k.user.UserID, "Work", protocol.Errorf(protocol.CodeNothingToCommit, "There is nothing to commit"),
			`{'code':'nothing_to_commit','error':'There is nothing to commit'}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			link.fail = c.fail
			_, err := commit(c.user, c.message)
			same(t, fault(err), c.want)
		})
	}
	k.wantAudit(`task.committed by user ada on task ` + task.ID + ` {"branch":"bellhop/1` + "\uFFFD" + `","commit":"c0ffee","files":"2"}`)
}

// A caller that goes away could otherwise have the host commit or push without an entry.
func TestAnActWhoseCallerLeavesIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ctx, leave := context.WithCancel(broker.WithActor(k.ctx, protocol.AuditActor{
		Kind: protocol.AuditByUser, ID: k.user.UserID,
	}))
	ships := &broker.Ships{Sessions: k.sessions, Users: k.store, Link: &shipper{leave: leave}}
	task := k.task()
	if _, err := ships.Commit(ctx, k.user.UserID, task.ID, &protocol.CommitTaskRequest{Message: "Add"}); err != nil {
		t.Error(err)
	}
	k.wantAudit(`task.committed by user ada on task ` + task.ID +
		` {"branch":"bellhop/1` + "\uFFFD" + `","commit":"c0ffee","files":"2"}`)
}
