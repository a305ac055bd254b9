package broker

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/protocol"
)

// Adoption makes tasks for orphans: sessions of hosts whose tasks were created
// after the backup that the database was restored from. Only administrators may
// use it; others get CodeForbidden.
type Adoption struct {
	Store    AdoptionStore
	Updater  *Updater
	Link     Link
	Hosts    RecoveryLink
	Sessions *Sessions
	Now      func() time.Time
	Log      *slog.Logger
}

// AdoptionStore is what adopting needs stored.
type AdoptionStore interface {
	AuditStore
	Hosts(ctx context.Context) ([]Host, error)
	Host(ctx context.Context, id string) (*Host, error)
	// Cursors are those of the tasks that exist, deleted ones too.
	Cursors(ctx context.Context, taskIDs []string) (map[string]protocol.Cursor, error)
	AnyTask(ctx context.Context, id string) (*Task, error)
	CreateTask(ctx context.Context, t *Task) error
	User(ctx context.Context, id string) (*User, error)
	UserByEmail(ctx context.Context, email string) (*User, error)
}

const (
	boundPage   = 500
	orphanTitle = "Recovered task"
)

// List asks every registered host for its orphans.
func (s *Adoption) List(ctx context.Context, caller Caller) (*protocol.OrphanList, error) {
	if err := adminOnly(caller); err != nil {
		return nil, err
	}
	hosts, err := s.Store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	list := &protocol.OrphanList{Orphans: []protocol.Orphan{}, Unreachable: []string{}}
	for i := range hosts {
		found, err := s.orphansOf(ctx, hosts[i].ID)
		if err != nil {
			s.Log.WarnContext(ctx, "a host was not asked for orphans", "host", hosts[i].Name, "error", err)
			list.Unreachable = append(list.Unreachable, hosts[i].Name)
			continue
		}
		list.Orphans = append(list.Orphans, found...)
	}
	return list, nil
}

func (s *Adoption) orphansOf(ctx context.Context, hostID string) ([]protocol.Orphan, error) {
	host, err := s.Store.Host(ctx, hostID)
	if err != nil {
		return nil, err
	}
	var orphans []protocol.Orphan
	err = s.eachPage(ctx, host, func(page []protocol.BoundSession) error {
		ids := make([]string, len(page))
		for i := range page {
			ids[i] = page[i].SessionID
		}
		known, err := s.Store.Cursors(ctx, ids)
		if err != nil {
			return err
		}
		for i := range page {
			if _, exists := known[page[i].SessionID]; !exists {
				orphans = append(orphans, s.orphan(ctx, host, s.described(ctx, host, &page[i])))
			}
		}
		return nil
	})
	return orphans, err
}

func (s *Adoption) orphan(ctx context.Context, host *Host, bound *protocol.BoundSession) protocol.Orphan {
	o := protocol.Orphan{Session: *bound, HostID: host.ID, HostName: host.Name}
	if user, err := s.Store.User(ctx, bound.Owner); err == nil {
		o.Email = user.Email
	}
	return o
}

// described adds the title and the owner of a session that is bound to a key. If the key is
// not this broker's, they stay unknown: the host's operator must release the session first.
func (s *Adoption) described(ctx context.Context, host *Host, bound *protocol.BoundSession) *protocol.BoundSession {
	if !bound.Keyed {
		return bound
	}
	full, err := s.Hosts.Session(ctx, host.target(s.Now()), bound.SessionID)
	if err != nil {
		s.Log.WarnContext(ctx, "a session's host does not say whose it is",
			"host", host.Name, "session", bound.SessionID, "error", err)
		return bound
	}
	return full
}

// eachPage calls do with the host's sessions of this broker, page by page.
func (s *Adoption) eachPage(ctx context.Context, host *Host, do func([]protocol.BoundSession) error) error {
	target := host.target(s.Now())
	for after := ""; ; {
		page, err := s.Hosts.Sessions(ctx, target, s.Sessions.BrokerID, after, boundPage)
		if err != nil {
			return err
		}
		if len(page.Sessions) > 0 {
			if err := do(page.Sessions); err != nil {
				return err
			}
		}
		if page.NextAfter == "" || page.NextAfter <= after {
			return nil
		}
		after = page.NextAfter
	}
}

// Adopt makes a task for an orphan and has the host send all events of the session.
// It can be repeated after a failure. CodeNotFound: the host has no such session;
// CodeConflict: the broker has another task of that id; CodeInvalid: no such user.
func (s *Adoption) Adopt(
	ctx context.Context, caller Caller, sessionID string, req *protocol.AdoptRequest,
) (*protocol.Task, error) {
	if err := adminOnly(caller); err != nil {
		return nil, err
	}
	incarnation := s.Sessions.Incarnation.ID()
	host, err := s.Store.Host(ctx, req.HostID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, protocol.Errorf(protocol.CodeInvalid, "hostId names no registered host")
	}
	if err != nil {
		return nil, err
	}
	bound, err := s.find(ctx, host, sessionID)
	if err != nil {
		return nil, err
	}
	user, err := s.heir(ctx, bound, req.Email)
	if err != nil {
		return nil, err
	}
	task, err := s.ensureTask(ctx, user, host, bound, req.Title)
	if err != nil {
		return nil, err
	}
	secret, err := s.Sessions.Store.WebhookSecret(ctx, task.ID)
	if err != nil {
		return nil, err
	}
	open, err := s.Sessions.openRequest(&session{task: task, secret: secret, incarnation: incarnation}, "")
	if err != nil {
		return nil, err
	}
	open.Attach = true
	opened, err := s.Link.Open(ctx, host.target(s.Now()), open)
	if err == nil {
		err = s.Sessions.storeTraits(ctx, task, opened)
	}
	if err != nil {
		return nil, err
	}
	s.Log.InfoContext(ctx, "session adopted", "task", task.ID, "host", host.Name, "user", user.ID)
	return task.View(), nil
}

func (s *Adoption) find(ctx context.Context, host *Host, sessionID string) (*protocol.BoundSession, error) {
	var found *protocol.BoundSession
	err := s.eachPage(ctx, host, func(page []protocol.BoundSession) error {
		for i := range page {
			if page[i].SessionID == sessionID {
				found = &page[i]
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, protocol.Errorf(protocol.CodeNotFound, "The host has no such session of this broker")
	case found.Keyed:
		return s.Hosts.Session(ctx, host.target(s.Now()), sessionID)
	}
	return found, nil
}

// heir is the user who gets the task.
func (s *Adoption) heir(ctx context.Context, bound *protocol.BoundSession, email string) (user *User, err error) {
	if email = strings.ToLower(strings.TrimSpace(email)); email != "" {
		user, err = s.Store.UserByEmail(ctx, email)
	} else {
		user, err = s.Store.User(ctx, bound.Owner)
	}
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The user who owned the task is not known, or email names no user",
			Hint: "Name a user's email; create the user first if the backup is older than they are",
		}
	}
	return user, err
}

// ensureTask returns the task of an earlier try, or a new one. Its cursor is {0,0},
// so the host sends everything.
func (s *Adoption) ensureTask(
	ctx context.Context, user *User, host *Host, bound *protocol.BoundSession, title string,
) (*Task, error) {
	known, err := s.Store.AnyTask(ctx, bound.SessionID)
	switch {
	case err == nil && known.DeletedAt == nil && known.UserID == user.ID && known.HostID == host.ID:
		return known, nil
	case err == nil:
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The broker has a task of this id",
			Hint: "It belongs to another user or host, or was deleted",
		}
	case protocol.CodeOf(err) != protocol.CodeNotFound:
		return nil, err
	}
	now := nowUTC(s.Now)
	task := &Task{
		ID: bound.SessionID, UserID: user.ID, Title: cmp.Or(strings.TrimSpace(title), bound.Title, orphanTitle),
		Mode: protocol.ModeAgent, Agent: bound.Agent, Project: bound.Project, HostID: host.ID, HostEvents: true,
		WebhookSecret: seal.NewSecret(token.NewSecretHex()), AgentStatus: protocol.StatusNone,
		CreatedAt: bound.CreatedAt.UTC().Truncate(time.Microsecond), LastActivityAt: now, ChangedAt: now,
	}
	if err := checkTask(task); err != nil {
		return nil, err
	}
	err = Audited(ctx, s.Store, s.Now, func(ctx context.Context) (*Act, error) {
		act := taskAct(protocol.AuditTaskAdopted, task, map[string]string{"owner": user.ID, "host": host.ID})
		return act, s.Store.CreateTask(ctx, task)
	})
	if err != nil {
		return nil, err
	}
	s.Updater.notify(task)
	return task, nil
}
