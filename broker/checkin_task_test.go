package broker_test

import (
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// A host that does not know permission modes would ignore the one that the user chose, so
// the check-in fails.
func TestACheckInChoosesThePermissionMode(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	task := k.task()
	check := func(mode protocol.PermissionMode) error {
		_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{
			TaskID: task.ID, Message: "x", PermissionMode: mode,
		})
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
	if got := k.get(task.ID).PermissionMode; got != protocol.ModePlan {
		t.Errorf("the task shows mode %q", got)
	}
	k.must(check("")) // keeps the task's mode
	if got := k.host.lastOpen().PermissionMode; got != protocol.ModePlan {
		t.Errorf("the host was asked for mode %q", got)
	}
}

// A model belongs to an agent: when the task's agent changes, the host chooses the model.
func TestCheckInsUseTheModelOfTheTask(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		task, err := k.tasks.Create(k.ctx, k.user, &protocol.CreateTaskRequest{
			Title: "T", AgentURL: "https://agent.example/", AgentPassword: "p", Agent: "claude", Model: "small",
		})
		k.must(err)
		change := func(agent, model *string) error {
			_, err := k.tasks.Update(k.ctx, k.user, task.ID, broker.TaskPatch{Agent: agent, Model: model})
			return err
		}
		wantModel := func(what, want string) {
			t.Helper()
			k.checkIn(task.ID, what)
			if got, shown := k.host.lastOpen().Model, k.get(task.ID).Model; got != want || shown != want {
				t.Errorf("%s: the host was asked for %q, the task shows %q, want %q", what, got, shown, want)
			}
		}
		wantModel("as created", "small")
		large, claude, codex, none, long := "large", "claude", "codex", "", strings.Repeat("m", 201)
		rev := k.get(task.ID).Rev
		k.must(change(nil, &large))
		if k.get(task.ID).Rev <= rev {
			t.Error("open consoles are not notified")
		}
		wantModel("changed", "large")
		k.must(change(&claude, nil))
		wantModel("the same agent", "large")
		for _, refused := range []*string{&none, &long} {
			if got := protocol.CodeOf(change(nil, refused)); got != protocol.CodeInvalid {
				t.Errorf("a model of %d characters: %q", len(*refused), got)
			}
		}
		wantModel("unchanged after a refusal", "large")
		k.must(change(&codex, nil))
		wantModel("another agent", "")
	})
}

// The selectors of the console set the task's mode, which its check-ins use.
func TestCheckInsUseThePermissionModeOfTheTask(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		k.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
			return &protocol.OpenSessionResponse{Token: "t", Cursor: req.Cursor, PermissionMode: req.PermissionMode}, nil
		}
		caller := broker.Caller{UserID: k.user.UserID}
		task, err := k.tasks.Create(k.ctx, caller, &protocol.CreateTaskRequest{
			Title: "T", AgentURL: "https://agent.example/", AgentPassword: "p",
			PermissionMode: protocol.ModeAcceptEdits,
		})
		k.must(err)
		wantMode := func(what string, want protocol.PermissionMode) {
			t.Helper()
			k.checkIn(task.ID, what)
			if got, shown := k.host.lastOpen().PermissionMode, k.get(task.ID).PermissionMode; got != want || shown != want {
				t.Errorf("%s: the host was asked for %q, the task shows %q", what, got, shown)
			}
		}
		wantMode("as created", protocol.ModeAcceptEdits)
		change := func(mode protocol.PermissionMode) error {
			_, err := k.tasks.Update(k.ctx, caller, task.ID, broker.TaskPatch{PermissionMode: &mode})
			return err
		}
		rev := k.get(task.ID).Rev
		k.must(change(protocol.ModeAuto))
		if k.get(task.ID).Rev <= rev {
			t.Error("open consoles are not notified")
		}
		wantMode("as changed", protocol.ModeAuto)
		for _, unknown := range []protocol.PermissionMode{"yolo", ""} {
			if err := change(unknown); protocol.CodeOf(err) != protocol.CodeInvalid {
				t.Errorf("mode %q: %v", unknown, err)
			}
		}
		wantMode("after a refusal", protocol.ModeAuto)
		_, err = k.tasks.Create(k.ctx, caller, &protocol.CreateTaskRequest{Title: "T", PermissionMode: "yolo"})
		if protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("a task with an unknown mode: %v", err)
		}
	})
}
