package broker_test

import (
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

func TestATaskStartsFromABranch(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	create := func(req protocol.CreateTaskRequest) (*protocol.Task, error) {
		req.Title, req.AgentURL, req.AgentPassword = "T", "https://agent.example", "pw"
		return k.tasks.Create(k.ctx, k.user, &req)
	}
	for name, req := range map[string]protocol.CreateTaskRequest{
		"an option":         {Project: "shop", Branch: "--upload-pack=touch"},
		"a range":           {Project: "shop", Branch: "main..next"},
		"the name of a ref": {Project: "shop", Branch: "refs/heads/main"},
		"two lines":         {Project: "shop", Branch: "main\nnext"},
		"no project":        {Branch: "main"},
		"a workspace":       {Project: "shop", Branch: "main", Workspace: "fix"},
		"no agent":          {Project: "shop", Branch: "main", Mode: protocol.ModeChat},
	} {
		if _, err := create(req); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	task, err := create(protocol.CreateTaskRequest{Project: "shop", Branch: "release"})
	k.must(err)
	checkIn := func() error {
		_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "hi"})
		return err
	}
	// A host that ignores the branch would start from the project's default.
	if err := checkIn(); protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), "from a branch") {
		t.Errorf("without the capability: %v", err)
	}
	k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
		known := []string{protocol.CapabilityBranches}
		return &protocol.OpenSessionResponse{Token: "t", Cursor: req.Cursor, Capabilities: known}, nil
	}
	k.must(checkIn())
	if got := k.host.lastOpen(); got.Branch != "release" || k.get(task.ID).Branch != "release" {
		t.Errorf("the host was asked for %q, the task has %q", got.Branch, k.get(task.ID).Branch)
	}
}

// A branch is of one project: a task that moves to another project never keeps it in silence.
func TestACorrectedTaskNeedsABranchOfItsNewProject(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
		Title: "T", AgentURL: "https://agent.example", AgentPassword: "pw", Project: "shop", Branch: "release",
	})
	k.must(err)
	patch := func(project, branch *string) error {
		_, err := k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{Project: project, Branch: branch})
		return err
	}
	site, none, next := "site", "", "next"
	for name, err := range map[string]error{
		"without a branch": patch(&site, nil), "no project": patch(&none, &next), "an option": patch(nil, new("-D")),
	} {
		if protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := k.get(task.ID); got.Project != "shop" || got.Branch != "release" {
		t.Errorf("a refused change was stored: %+v", got)
	}
	before := k.get(task.ID).Rev
	k.must(patch(&site, &next))
	if got := k.get(task.ID); got.Project != "site" || got.Branch != "next" || got.Rev == before {
		t.Errorf("task %+v", got)
	}
	k.must(patch(nil, &none))
	if got := k.get(task.ID); got.Branch != "" {
		t.Errorf("branch %q", got.Branch)
	}
}
