package broker_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

// filing is a FileLink that records its calls.
type filing struct {
	asked   []string
	session error
	list    *protocol.PathList
	project error
}

func (f *filing) SessionPaths(_ context.Context, _ broker.Target, _, query string) (*protocol.PathList, error) {
	f.asked = append(f.asked, "session "+query)
	return f.list, f.session
}

func (f *filing) ProjectPaths(
	_ context.Context, t broker.Target, project, branch, query string,
) (*protocol.PathList, error) {
	f.asked = append(f.asked, t.URL+" "+project+"@"+branch+" "+query)
	return f.list, f.project
}

func TestTheFilesOfATaskAreThoseOfItsSessionOrItsProject(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	link := &filing{
		list: &protocol.PathList{Paths: []string{"a\x00b", "", strings.Repeat("x", protocol.MaxPath+1), "README"}},
	}
	files := &broker.Files{Sessions: k.sessions, Link: link}
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
		Title: "T", AgentURL: "https://agent.example", AgentPassword: "pw", Project: "shop", Branch: "release",
	})
	k.must(err)
	search := func(what string, want string) *protocol.PathList {
		t.Helper()
		link.asked = nil
		list, err := files.OfTask(k.ctx, k.user.UserID, task.ID, "read")
		k.must(err)
		if got := strings.Join(link.asked, ", "); got != want {
			t.Errorf("%s: asked for %q", what, got)
		}
		return list
	}
	list := search("before the first turn", "https://agent.example shop@release read")
	if len(list.Paths) != 2 || strings.Contains(list.Paths[0], "\x00") || list.Paths[1] != "README" {
		t.Errorf("paths %q", list.Paths)
	}
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		return &protocol.OpenSessionResponse{
			Token: "t", Cursor: req.Cursor, Capabilities: []string{protocol.CapabilityBranches},
		}, nil
	}
	in := k.checkIn(task.ID, "hi")
	k.mustSend(task.ID, in.TurnID, seqd(1, 1, in.TurnID, `'type':'text','id':'a','text':'working'`))
	search("with a session", "session read")
	link.session = protocol.Errorf(protocol.CodeNotFound, "no workspace")
	search("with a session without a workspace", "session read, https://agent.example shop@release read")
	link.session = protocol.Errorf(protocol.CodeMethodNotAllowed, "no such route")
	if list := search("at a basic host", "session read"); list.Problem == "" || list.Paths == nil {
		t.Errorf("list %+v", list)
	}
	if _, err := files.OfTask(k.ctx, "nobody", task.ID, ""); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("another user: %v", err)
	}
	long := strings.Repeat("x", protocol.MaxPathQuery+1)
	if _, err := files.OfTask(k.ctx, k.user.UserID, task.ID, long); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("a long search: %v", err)
	}
}

func TestTheFilesOfAProjectComeFromTheHostThatTheTaskWouldGoTo(t *testing.T) {
	t.Parallel()
	k, _, _ := workspaceKit(t) // with the hosts a, b and basic
	link := &filing{list: &protocol.PathList{Paths: make([]string, 0)}}
	for range protocol.MaxPaths + 1 {
		link.list.Paths = append(link.list.Paths, "README")
	}
	files := &broker.Files{Sessions: k.sessions, Link: link}
	list, err := files.OfProject(k.ctx, k.user.UserID, broker.ProjectQuery{
		HostID: "b", Project: "shop", Branch: "next", Query: "q",
	})
	k.must(err)
	if len(list.Paths) != protocol.MaxPaths || !list.More || !slices.Equal(link.asked, []string{"http://b shop@next q"}) {
		t.Errorf("%d paths, more %t, asked %v", len(list.Paths), list.More, link.asked)
	}
	_, err = files.OfProject(k.ctx, k.user.UserID, broker.ProjectQuery{Project: "shop"})
	if err != nil || !slices.Contains(link.asked, "http://a shop@ ") {
		t.Errorf("without a host: %v, asked %v", err, link.asked)
	}
	for name, q := range map[string]broker.ProjectQuery{
		"no project": {HostID: "b"}, "an option": {HostID: "b", Project: "shop", Branch: "-D"},
	} {
		if _, err := files.OfProject(k.ctx, k.user.UserID, q); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	link.project = protocol.Errorf(protocol.CodeNoBranch, "no such branch")
	_, err = files.OfProject(k.ctx, k.user.UserID, broker.ProjectQuery{HostID: "a", Project: "shop"})
	if protocol.CodeOf(err) != protocol.CodeNoBranch {
		t.Errorf("an unknown branch: %v", err)
	}
}
