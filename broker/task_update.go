package broker

import (
	"context"
	"errors"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// TaskPatch changes the members that are not nil.
type TaskPatch struct {
	// Mode cannot change: a value that differs from the task's is CodeInvalid.
	Mode          *protocol.TaskMode `json:"mode"`
	Title         *string            `json:"title"`
	Archived      *bool              `json:"archived"`
	ReadRev       *int64             `json:"readRev"`
	Agent         *string            `json:"agent"`
	Project       *string            `json:"project"`
	Branch        *string            `json:"branch"` // of the project, for a task that has no session yet
	Model         *string            `json:"model"`  // of the turns that are checked in from now on
	HostID        *string            `json:"hostId"`
	AgentURL      *string            `json:"agentUrl"`
	AgentPassword *string            `json:"agentPassword"`

	PermissionMode *protocol.PermissionMode `json:"permissionMode"` // of the turns that are checked in from now on
}

// Update changes a task. After a new password the previous one stays valid for 24
// h.
func (s *Tasks) Update(ctx context.Context, caller Caller, id string, p TaskPatch) (*protocol.Task, error) {
	if p.AgentURL != nil && *p.AgentURL != "" {
		if err := s.checkURL(caller, *p.AgentURL); err != nil { // outside the lock, because it resolves names
			return nil, err
		}
	}
	tx, err := s.Updater.updateTask(ctx, caller.UserID, id, func(ctx context.Context, tx *taskTx) error {
		if err := s.patch(ctx, tx, p, caller); err != nil {
			return err
		}
		if err := checkTask(tx.task); err != nil || p.AgentPassword == nil {
			return err
		}
		return s.Store.SetTaskPassword(ctx, id, seal.NewSecret(*p.AgentPassword), tx.now.Add(passwordGrace))
	})
	if err != nil {
		return nil, err
	}
	return tx.task.View(), nil
}

func (s *Tasks) patch(ctx context.Context, tx *taskTx, p TaskPatch, caller Caller) error {
	t := tx.task
	before := *t
	if p.Mode != nil && *p.Mode != t.Mode {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "mode cannot be changed",
			Hint: "Create another task with the mode that you want",
		}
	}
	if p.Title != nil {
		t.Title = strings.TrimSpace(*p.Title)
	}
	if err := t.setAgent(p.Agent, p.Model); err != nil {
		return err
	}
	if p.Project != nil {
		t.Project = *p.Project
	}
	if p.PermissionMode != nil && *p.PermissionMode == "" { // the session would keep the mode that it has
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "permissionMode must be plan, ask, accept-edits or auto",
			Hint: "Leave it out to keep the task's; ask is that of a new task",
		}
	}
	if p.PermissionMode != nil {
		tx.setPermissionMode(ctx, *p.PermissionMode)
	}
	if p.Archived != nil {
		t.Archived = *p.Archived
	}
	if p.ReadRev != nil { // never backwards, and never beyond the task's rev
		t.ReadRev = max(t.ReadRev, min(*p.ReadRev, t.Rev))
	}
	if p.HostID != nil || p.AgentURL != nil {
		if err := s.setPlace(ctx, caller, t, value(p.HostID), value(p.AgentURL)); err != nil {
			return err
		}
	}
	if err := t.checkWorkspace(&before); err != nil {
		return err
	}
	if err := t.setBranch(p.Branch, before.Project); err != nil {
		return err
	}
	if before.Title != t.Title || before.Agent != t.Agent || before.Project != t.Project ||
		before.Model != t.Model || before.Branch != t.Branch || before.Archived != t.Archived ||
		before.ReadRev != t.ReadRev ||
		before.HostID != t.HostID || before.AgentURL != t.AgentURL || before.Guarded != t.Guarded {
		tx.touch()
	}
	return nil
}

func (t *Task) setAgent(agent, model *string) error {
	if agent != nil && *agent != t.Agent {
		t.Agent, t.Model = *agent, "" // the model belonged to the former agent
	}
	if model == nil {
		return nil
	}
	if *model == "" && t.Model != "" { // the session would keep the model that it has
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "model must name a model of the agent", Hint: "Leave it out to keep the task's",
		}
	}
	t.Model = *model
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Delete marks a task as deleted for 48 h, and asks the host to end the session. It
// succeeds even if the host cannot be reached: then SessionEnds repeats the request, with the confirmation. The host keeps
// workspaces in which something exists only, unless confirmed is the id of that list; Delete returns the list if the host
// answers in time, and else that the end is pending. CodeConflict: another list than the confirmed one is true now, and nothing was deleted. CodeInvalid:
// confirmed is no id of a list.
func (s *Tasks) Delete(ctx context.Context, userID, id, confirmed string) (*protocol.TaskDeletion, error) {
	if confirmed != cleanText(confirmed) {
		return nil, protocol.Errorf(protocol.CodeInvalid, "onlyCopies is not the id of a list")
	}
	if confirmed != "" {
		now, err := s.OnlyCopies(ctx, userID, id)
		if err != nil {
			return nil, err
		}
		if now.ID != "" && now.Exist() && now.ID != confirmed {
			return nil, &protocol.Error{
				Code: protocol.CodeConflict, Message: "The workspace holds other things now than those that were confirmed",
				Hint: "Look again at what exists only there",
			}
		}
	}
	owed, err := s.remove(ctx, userID, id, confirmed)
	if err != nil {
		return nil, err
	}
	done := &protocol.TaskDeletion{Success: true}
	if owed {
		done.Kept, done.Pending = s.Ends.first(ctx, id, confirmed)
	}
	return done, nil
}

// OnlyCopies returns what exists only in the workspaces of a task's session. Without an id it says that the host does not
// tell.
func (s *Tasks) OnlyCopies(ctx context.Context, userID, id string) (*protocol.OnlyCopies, error) {
	task, err := s.Store.Task(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	if found := s.Ends.onlyCopies(ctx, task); found != nil {
		return found, nil
	}
	return &protocol.OnlyCopies{Items: []protocol.OnlyCopy{{
		Kind: protocol.OnlyUnknown, Name: "The agent host does not tell: a deletion keeps the workspace if something exists only there",
	}}}, nil
}

// DeleteAll deletes the tasks of a user like Delete, but leaves the first attempt to end a session to
// SessionEnds: one host that cannot be reached must not delay the others. A task that cannot be deleted
// does not stop the deletion of the others.
func (s *Tasks) DeleteAll(ctx context.Context, userID string) error {
	var failed []error
	for after := ""; ; {
		ids, err := s.Store.TasksOfUser(ctx, userID, after, maxLimit)
		if err != nil || len(ids) == 0 || ctx.Err() != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, id := range ids {
			after = id
			if _, err := s.remove(ctx, userID, id, ""); protocol.CodeOf(err) != protocol.CodeNotFound {
				failed = addFailure(failed, err)
			}
		}
	}
}

// expire deletes an archived task like DeleteAll if it has not changed since a time and no turn of it is open,
// and reports whether it did.
func (s *Tasks) expire(ctx context.Context, userID, id string, unchangedSince time.Time) (expired bool, err error) {
	_, err = s.Updater.updateTask(ctx, userID, id, func(ctx context.Context, tx *taskTx) error {
		t := tx.task
		if expired = t.Archived && t.OpenTurn == "" && t.ChangedAt.Before(unchangedSince); !expired {
			return nil
		}
		act := taskAct(protocol.AuditTaskExpired, t, nil)
		tx.batch.Audit = append(tx.batch.Audit, act.entry(ActorOf(ctx), tx.now))
		_, err := s.removeIn(ctx, tx, "")
		return err
	})
	if protocol.CodeOf(err) == protocol.CodeNotFound { // its user deleted it meanwhile
		err = nil
	}
	return expired && err == nil, err
}

// remove marks a task as deleted. owed means that its host still has to end the session, with the confirmation.
func (s *Tasks) remove(ctx context.Context, userID, id, confirmed string) (owed bool, err error) {
	_, err = s.Updater.updateTask(ctx, userID, id, func(ctx context.Context, tx *taskTx) error {
		owed, err = s.removeIn(ctx, tx, confirmed)
		return err
	})
	return owed, err
}

func (s *Tasks) removeIn(ctx context.Context, tx *taskTx, confirmed string) (owed bool, err error) {
	tx.task.DeletedAt, tx.task.Queue = &tx.now, TaskQueue{}
	tx.touch()
	if err := errors.Join(s.Store.ClearQueue(ctx, tx.task.ID), s.Store.DeleteShares(ctx, tx.task.ID)); err != nil {
		return false, err
	}
	if mayHaveSession(tx.task) {
		return true, s.Ends.addOwedEnd(ctx, tx.task.ID, confirmed)
	}
	tx.task.HostID = "" // so that the host can be removed while the deleted task is kept
	return false, nil
}
