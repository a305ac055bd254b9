package broker

import (
	"context"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// TaskPatch changes what is not nil.
type TaskPatch struct {
	Title         *string `json:"title"`
	Archived      *bool   `json:"archived"`
	ReadRev       *int64  `json:"readRev"`
	Agent         *string `json:"agent"`
	Project       *string `json:"project"`
	HostID        *string `json:"hostId"`
	AgentURL      *string `json:"agentUrl"`
	AgentPassword *string `json:"agentPassword"`
}

// Update changes a task. A new password leaves the former one valid for 24 h.
func (s *Tasks) Update(ctx context.Context, userID, id string, p TaskPatch, caller Caller) (*protocol.Task, error) {
	if p.AgentURL != nil && *p.AgentURL != "" {
		if err := s.checkURL(caller, *p.AgentURL); err != nil { // resolves names: not under the lock
			return nil, err
		}
	}
	var e *edit
	err := s.Store.Write(ctx, func(ctx context.Context) error {
		var err error
		if e, err = lock(ctx, s.Store, userID, id, at(s.Now)); err != nil {
			return err
		}
		if err := s.patch(ctx, e, p, caller); err != nil {
			return err
		}
		if err := checkTask(e.task); err != nil {
			return err
		}
		if p.AgentPassword != nil {
			until := e.now.Add(passwordGrace)
			if err := s.Store.SetTaskPassword(ctx, id, seal.NewSecret(*p.AgentPassword), until); err != nil {
				return err
			}
		}
		return e.save(ctx)
	})
	if err != nil {
		return nil, err
	}
	if len(e.batch.Changes) > 0 {
		s.notify(e.task)
	}
	return e.task.View(), nil
}

func (s *Tasks) patch(ctx context.Context, e *edit, p TaskPatch, caller Caller) error {
	t := e.task
	before := *t
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
	if p.ReadRev != nil { // reading goes forward, and not beyond what there is
		t.ReadRev = max(t.ReadRev, min(*p.ReadRev, t.Rev))
	}
	if p.HostID != nil || p.AgentURL != nil {
		if err := s.where(ctx, caller, t, value(p.HostID), value(p.AgentURL)); err != nil {
			return err
		}
	}
	if before.Title != t.Title || before.Agent != t.Agent || before.Project != t.Project ||
		before.Archived != t.Archived || before.ReadRev != t.ReadRev ||
		before.HostID != t.HostID || before.AgentURL != t.AgentURL || before.Guarded != t.Guarded {
		e.touch()
	}
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Delete leaves a tombstone for 48 h, and tells the host, which may not hear it.
func (s *Tasks) Delete(ctx context.Context, userID, id string) error {
	var e *edit
	var target Target
	var known bool
	err := s.Store.Write(ctx, func(ctx context.Context) error {
		var err error
		if e, err = lock(ctx, s.Store, userID, id, at(s.Now)); err != nil {
			return err
		}
		target, err = targetOf(ctx, s.Store, e.task, s.CustomAgentURL, e.now)
		known = err == nil && e.task.Cursor != (protocol.Cursor{}) || err == nil && e.task.HostEvents
		if err != nil && protocol.CodeOf(err) == protocol.CodeUnavailable {
			return err
		}
		e.task.DeletedAt = &e.now
		e.task.HostID = "" // a host may go once only tombstones used it
		e.touch()
		return e.save(ctx)
	})
	if err != nil {
		return err
	}
	s.notify(e.task)
	if known && s.Link != nil {
		s.farewell(ctx, target, id)
	}
	return nil
}

// farewellLimit keeps a dead host from holding up the user.
const farewellLimit = 3 * time.Second

func (s *Tasks) farewell(ctx context.Context, target Target, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellLimit)
	defer cancel()
	err := s.Link.Delete(ctx, target, id)
	if code := protocol.CodeOf(err); err != nil && code != protocol.CodeNotFound && code != protocol.CodeGone {
		s.Log.WarnContext(ctx, "session of a deleted task not ended", "task", id, "error", err)
	}
}
