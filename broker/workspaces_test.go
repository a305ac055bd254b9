package broker_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// workspaceHosts answers with workspaces by URL and user.
type workspaceHosts struct {
	lists map[string][]protocol.Workspace
	fail  map[string]error
}

func (h *workspaceHosts) Workspaces(
	_ context.Context, t broker.Target, userID string,
) (*protocol.WorkspaceList, error) {
	return &protocol.WorkspaceList{Workspaces: h.lists[t.URL+" "+userID]}, h.fail[t.URL]
}

// workspaceKit has the hosts a, b and basic. The user has the workspaces fix on a, and twice on both.
func workspaceKit(t *testing.T) (*kit, *workspaceHosts, broker.Caller) {
	t.Helper()
	k := newKit(t)
	guest := k.newUser("guest@example.org", false)
	link := &workspaceHosts{
		lists: map[string][]protocol.Workspace{
			"http://a " + k.user.UserID: {
				{
					Name: "fix", Project: "shop", Branch: "bellhop/fix", Dirty: true,
					Metadata: map[string]string{"port\x00": "3000"}, CreatedBy: "s1",
				},
				{Name: "twice"},
				{Name: "taken", UsedBy: "s2"},
			},
			"http://b " + k.user.UserID: {{Name: "twice"}},
			"http://a " + guest.UserID:  {{Name: "hers"}},
		},
		fail: map[string]error{"http://basic": protocol.Errorf(protocol.CodeNotFound, "no such route")},
	}
	for _, id := range []string{"a", "b", "basic"} {
		k.must(k.store.CreateHost(k.ctx, &broker.Host{
			ID: id, Name: "host " + id, URL: "http://" + id, Password: seal.NewSecret("pw"), Health: broker.HostOK,
			CreatedAt: start,
		}))
	}
	k.tasks.Workspaces = &broker.Workspaces{
		Store: k.store, Targets: k.targets, Link: link, Log: slog.New(slog.DiscardHandler),
	}
	return k, link, guest
}

func TestAUserSeesOnlyTheirOwnWorkspaces(t *testing.T) {
	t.Parallel()
	k, link, guest := workspaceKit(t)
	link.fail["http://b"] = protocol.Errorf(protocol.CodeBadGateway, "away")
	shows := func(userID, want string) {
		t.Helper()
		list, err := k.tasks.Workspaces.List(k.ctx, userID)
		k.must(err)
		var got []string
		for _, h := range list.Hosts {
			line := h.Name
			for _, w := range h.Workspaces {
				line += " " + w.Name
				if w.Metadata["port\x00"] != "" || w.Metadata == nil {
					t.Errorf("metadata %v", w.Metadata)
				}
			}
			if h.Problem != "" {
				line += ": " + strings.SplitN(h.Problem, ":", 2)[0]
			}
			got = append(got, line)
		}
		if all := strings.Join(got, "; "); all != want {
			t.Errorf("%s sees %q", userID, all)
		}
	}
	const others = "; host b: The host did not answer; host basic: The host has no workspaces that tasks can name"
	shows(k.user.UserID, "host a fix twice taken"+others)
	shows(guest.UserID, "host a hers"+others)
	shows("nobody", "host a"+others)
}

// silentHosts does not answer for some URLs.
type silentHosts struct{ silent map[string]bool }

func (h *silentHosts) Workspaces(ctx context.Context, t broker.Target, _ string) (*protocol.WorkspaceList, error) {
	if h.silent[t.URL] {
		<-ctx.Done()
		return nil, protocol.Errorf(protocol.CodeBadGateway, "timeout")
	}
	return &protocol.WorkspaceList{Workspaces: []protocol.Workspace{{Name: "fix"}}}, nil
}

func TestManySilentHostsDelayAListOnce(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		k := kitOn(t, st)
		link := &silentHosts{silent: map[string]bool{}}
		const silent, others = 40, 40
		for i := range silent + others {
			h := &broker.Host{
				ID: protocol.NewID(), Name: fmt.Sprintf("host %02d", i), URL: fmt.Sprintf("http://h%d", i),
				Password: seal.NewSecret("pw"), Health: broker.HostOK, CreatedAt: start,
			}
			if i < silent {
				h.Health, link.silent[h.URL] = broker.HostUnreachable, true
			}
			k.must(st.CreateHost(k.ctx, h))
		}
		s := &broker.Workspaces{Store: st, Targets: k.targets, Link: link, Log: slog.New(slog.DiscardHandler)}
		began := time.Now()
		list, err := s.List(k.ctx, k.user.UserID)
		k.must(err)
		if took := time.Since(began); took != 8*time.Second {
			t.Errorf("the list took %v", took)
		}
		for i, h := range list.Hosts {
			if (h.Problem == "") != (i >= silent) || len(h.Workspaces) == 0 != (i < silent) {
				t.Errorf("%+v", h)
			}
		}
	})
}

func TestATaskIsCreatedInAWorkspaceOfItsUser(t *testing.T) {
	t.Parallel()
	k, link, _ := workspaceKit(t)
	create := func(req protocol.CreateTaskRequest) (*protocol.Task, error) {
		req.Title, req.AgentPassword = "T", ""
		return k.tasks.Create(k.ctx, k.user, &req)
	}
	task, err := create(protocol.CreateTaskRequest{Workspace: "fix"})
	k.must(err)
	if task.Workspace != "fix" || task.HostID != "a" || task.Project != "shop" {
		t.Errorf("task %+v", task)
	}
	if _, err := create(protocol.CreateTaskRequest{Workspace: "twice", HostID: "b"}); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		req  protocol.CreateTaskRequest
		want protocol.Code
	}{
		"an unknown name":    {protocol.CreateTaskRequest{Workspace: "nothing", HostID: "a"}, protocol.CodeNotFound},
		"another user's":     {protocol.CreateTaskRequest{Workspace: "hers", HostID: "a"}, protocol.CodeNotFound},
		"on another host":    {protocol.CreateTaskRequest{Workspace: "fix", HostID: "b"}, protocol.CodeNotFound},
		"on several hosts":   {protocol.CreateTaskRequest{Workspace: "twice"}, protocol.CodeConflict},
		"in use":             {protocol.CreateTaskRequest{Workspace: "taken"}, protocol.CodeConflict},
		"of another project": {protocol.CreateTaskRequest{Workspace: "fix", Project: "blog"}, protocol.CodeInvalid},
		"on a basic host": {
			protocol.CreateTaskRequest{Workspace: "fix", HostID: "basic"}, protocol.CodeBadGateway,
		},
		"on an unregistered host": {
			protocol.CreateTaskRequest{Workspace: "fix", AgentURL: "http://x"}, protocol.CodeInvalid,
		},
		"without an agent": {
			protocol.CreateTaskRequest{Workspace: "fix", Mode: protocol.ModeChat}, protocol.CodeInvalid,
		},
		"a name that is too long":    {protocol.CreateTaskRequest{Workspace: strings.Repeat("x", 65)}, protocol.CodeInvalid},
		"a path instead of the name": {protocol.CreateTaskRequest{Workspace: "../fix", HostID: "a"}, protocol.CodeNotFound},
	} {
		if _, err := create(c.req); protocol.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	link.fail["http://a"] = protocol.Errorf(protocol.CodeBadGateway, "away")
	if _, err := create(protocol.CreateTaskRequest{Workspace: "fix"}); protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("while its host is away: %v", err)
	}
	if list, err := k.tasks.List(k.ctx, k.user.UserID, broker.TaskQuery{}); err != nil || len(list.Tasks) != 2 {
		t.Errorf("a refused task is stored: %v %v", list, err)
	}
}

func TestATaskStaysInItsWorkspace(t *testing.T) {
	t.Parallel()
	k, _, _ := workspaceKit(t)
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "T", Workspace: "fix"})
	k.must(err)
	text := func(s string) *string { return &s }
	for name, patch := range map[string]broker.TaskPatch{
		"another host": {HostID: text("b")}, "another project": {Project: text("blog")}, "no host": {HostID: text("")},
	} {
		if _, err := k.tasks.Update(k.ctx, k.user, task.ID, patch); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{Title: text("U"), Project: text("shop")})
	if err != nil {
		t.Errorf("what does not move it: %v", err)
	}
	if got := k.get(task.ID); got.Workspace != "fix" || got.HostID != "a" || got.Project != "shop" {
		t.Errorf("task %+v", got)
	}
}

// A host that ignores the workspace would work in a new directory.
func TestAHostThatKnowsNoWorkspacesGetsNoTurnInOne(t *testing.T) {
	t.Parallel()
	k, _, _ := workspaceKit(t)
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{Title: "T", Workspace: "fix"})
	k.must(err)
	checkIn := func() error {
		_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "hi"})
		return err
	}
	if err := checkIn(); protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), "no workspaces") {
		t.Errorf("without the capability: %v", err)
	}
	if got := k.host.lastOpen(); got.Workspace != "fix" || got.Project != "shop" {
		t.Errorf("the host was asked for %+v", got)
	}
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		known := []string{protocol.CapabilityWorkspaces}
		return &protocol.OpenSessionResponse{Token: "t", Cursor: req.Cursor, Capabilities: known}, nil
	}
	k.must(checkIn())
}

func TestATaskShowsItsWorkspace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	shows := func(what, want string) {
		t.Helper()
		found, err := k.sessions.Workspace(k.ctx, k.user.UserID, task.ID)
		k.must(err)
		t.Log(what)
		same(t, found, want)
	}
	shows("before the first turn", `{'workspace':null}`)
	in := k.checkIn(task.ID, "hi")
	k.mustSend(task.ID, in.TurnID, `{'type':'finish','finishReason':'stop','timestamp':1}`)
	k.host.onWorkspace = func() (*protocol.SessionWorkspace, error) {
		return &protocol.SessionWorkspace{Workspace: &protocol.WorkspaceState{
			Branch: "bellhop/1", Dirty: true, Metadata: map[string]string{"port": "30\x0000"},
		}}, nil
	}
	shows("as its host describes it",
		`{'workspace':{'branch':'bellhop/1','dirty':true,'metadata':{'port':'30`+"\uFFFD"+`00'}}}`)
	for _, code := range []protocol.Code{protocol.CodeNotFound, protocol.CodeMethodNotAllowed, protocol.CodeNoWorkspace} {
		k.host.onWorkspace = func() (*protocol.SessionWorkspace, error) { return nil, protocol.Errorf(code, "no") }
		shows(string(code), `{'workspace':null}`)
	}
	k.host.onWorkspace = func() (*protocol.SessionWorkspace, error) {
		return nil, protocol.Errorf(protocol.CodeBadGateway, "away")
	}
	if _, err := k.sessions.Workspace(k.ctx, k.user.UserID, task.ID); protocol.CodeOf(err) != protocol.CodeBadGateway {
		t.Errorf("of a host that is away: %v", err)
	}
	guest := k.newUser("guest@example.org", false)
	if _, err := k.sessions.Workspace(k.ctx, guest.UserID, task.ID); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("of another user: %v", err)
	}
}
