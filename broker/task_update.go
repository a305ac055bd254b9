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
	HostID        *string            `json:"hostId"`
	AgentURL      *string            `json:"agentUrl"`
	AgentPassword *string            `json:"agentPassword"`
}

// Update changes a task. After a new password the previous one stays valid for 24
// h.
func (s *Tasks) Update(ctx context.Context, caller Caller, id string, p TaskPatch) (*protocol.Task, error) {
	if p.AgentURL != nil && *p.AgentURL != "" {
		if err := s.checkURL(caller, *p.AgentURL); err != nil { // may be slow, because it resolves names: not under the lock
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
			Code: protocol.CodeInvalid, Message: "mode cannot be changed", Hint: "Create another task with the mode that you want",
		}
	}
	if p.Title != nil {
		t.Title = strings.TrimSpace(*p.Title)
	}
	if p.Agent != nil {
		t.Agent = *p.Agent
	}
	if p.Project != nil {
		t.Project = *p.Project
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
	if before.Title != t.Title || before.Agent != t.Agent || before.Project != t.Project ||
		before.Archived != t.Archived || before.ReadRev != t.ReadRev ||
		before.HostID != t.HostID || before.AgentURL != t.AgentURL || before.Guarded != t.Guarded {
		tx.touch()
	}
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Delete marks a task as deleted for 48 h, and asks the host to end the session. It
// succeeds even if the host cannot be reached.
func (s *Tasks) Delete(ctx context.Context, userID, id string) error {
	var target Target
	var hasSession bool
	_, err := s.Updater.updateTask(ctx, userID, id, func(ctx context.Context, tx *taskTx) error {
		var err error
		target, err = s.Targets.of(ctx, tx.task)
		if protocol.CodeOf(err) == protocol.CodeUnavailable {
			return err
		}
		hasSession = err == nil && (tx.task.HostEvents || tx.task.Cursor != protocol.Cursor{})
		tx.task.DeletedAt = &tx.now
		tx.task.HostID = "" // so that the host can be removed while the deleted task is kept
		tx.touch()
		return nil
	})
	if err != nil {
		return err
	}
	if hasSession && s.Link != nil {
		s.endSession(ctx, target, id)
	}
	return nil
}

const (
	// endSessionLimit keeps an unresponsive host from delaying the user.
	endSessionLimit = 3 * time.Second
	deletePause     = 200 * time.Millisecond
)

func (s *Tasks) endSession(ctx context.Context, target Target, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endSessionLimit)
	defer cancel()
	err := s.Link.Delete(ctx, target, id)
	for errors.Is(err, ErrDoubtful) && pause(ctx, deletePause) {
		err = s.Link.Delete(ctx, target, id)
	}
	if code := protocol.CodeOf(err); err != nil && code != protocol.CodeNotFound && code != protocol.CodeGone {
		s.Log.WarnContext(ctx, "session of a deleted task not ended", "task", id, "error", err)
	}
}

// pause waits; it returns false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
