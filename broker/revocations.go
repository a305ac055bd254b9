package broker

import (
	"context"
	"log/slog"
	"time"

	"bellhop/internal/wait"
	"bellhop/protocol"
)

// Revocations end stream tokens and streams on hosts: those of a disabled user's tasks, and those that
// were issued to a sign-in or an API token that has ended. The database keeps those that a host has not
// confirmed, so that a host which is down, or a broker that restarts, leaves no stream open. Each is
// tried for a day.
type Revocations struct {
	Store    RevocationStore
	Targets  *Targets
	Link     Link
	BrokerID string // this installation
	Now      func() time.Time
	Held     func() time.Time // by which revocations are given up; nil = Now
	Log      *slog.Logger
}

// RevocationStore stores the revocations that hosts have not confirmed.
type RevocationStore interface {
	AnyTask(ctx context.Context, id string) (*Task, error)
	// DueRevocations returns those that are due at a time, the earliest first.
	DueRevocations(ctx context.Context, now time.Time, limit int) ([]Revocation, error)
	// ClaimRevocation counts an attempt and sets the time of the next one, in r too. It returns false
	// when another replica has claimed it or it has been made again.
	ClaimRevocation(ctx context.Context, r *Revocation, next time.Time) (bool, error)
	// SettleRevocation removes a claimed revocation, unless it has been made again since the claim.
	SettleRevocation(ctx context.Context, r *Revocation) error
	// DelayRevocations makes those of a host due no earlier than at.
	DelayRevocations(ctx context.Context, host string, at time.Time) error
}

// Revocation is what a host has to end: all stream tokens and streams of a task's session, or those of a
// credential in all sessions.
type Revocation struct {
	TaskID     string // with a credential: one of the user's tasks on the host
	Credential string // id of a sign-in or an API token; "": all of the task's session

	HostID    string // of the task; "" for a task with a URL of its own
	AgentURL  string // of the task
	DueAt     time.Time
	Attempts  int
	ExpiresAt time.Time
}

// host names what receives the revocation: a registered host or a task's own URL.
func (r *Revocation) host() string { return r.HostID + r.AgentURL }

const (
	revokeEvery   = 2 * time.Second
	revokeBatch   = 500
	revokeTimeout = 10 * time.Second
	// RevocationLife is how long a revocation is tried. Tokens expire after minutes, but a stream
	// through a network that is cut only from the broker may stay open.
	RevocationLife = 24 * time.Hour
)

// Run tries the revocations that are due, until ctx ends.
func (s *Revocations) Run(ctx context.Context) error {
	wait.Every(ctx, revokeEvery, s.Round)
	return nil
}

// Round tries the revocations that are due once: hosts in parallel, those of one host one after
// another until the host does not answer.
func (s *Revocations) Round(ctx context.Context) {
	due, err := s.Store.DueRevocations(ctx, nowUTC(s.Now), revokeBatch)
	if err != nil {
		s.report(ctx, "find", "", err)
		return
	}
	eachHost(due, (*Revocation).host, func(host string, list []Revocation) { s.revokeAll(ctx, host, list) })
}

func (s *Revocations) revokeAll(ctx context.Context, host string, list []Revocation) {
	for i := range list {
		r := &list[i]
		next := nowUTC(s.Now).Add(endPause(r.Attempts + 1))
		claimed, err := s.Store.ClaimRevocation(ctx, r, next)
		if err != nil || !claimed {
			s.report(ctx, "claim", r.TaskID, err)
			continue
		}
		err = s.revoke(ctx, r)
		if ctx.Err() != nil {
			return
		}
		if err == nil || !heldUTC(s.Held, s.Now).Before(r.ExpiresAt) {
			s.report(ctx, "abandon", r.TaskID, err)
			s.report(ctx, "settle", r.TaskID, s.Store.SettleRevocation(ctx, r))
			continue
		}
		s.report(ctx, "revoke", r.TaskID, err)
		if protocol.CodeOf(err) == protocol.CodeBadGateway {
			s.report(ctx, "delay", r.TaskID, s.Store.DelayRevocations(ctx, host, next))
			return
		}
	}
}

// revoke returns nil when the host has no such session, or is basic and has no stream that outlives
// its turn, or does not know credentials any more.
func (s *Revocations) revoke(ctx context.Context, r *Revocation) error {
	task, err := s.Store.AnyTask(ctx, r.TaskID)
	if err != nil {
		return err
	}
	if r.Credential != "" {
		task.HostID = r.HostID // a deleted task has lost its host
	} else if task.DeletedAt != nil && s.Targets.missing(task) {
		return nil // the host has ended the session, and its streams with it
	}
	target, err := s.Targets.of(ctx, task)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	if r.Credential == "" {
		err = s.Link.Revoke(ctx, target, r.TaskID)
	} else {
		err = s.Link.RevokeCredentials(ctx, target, &protocol.RevokeRequest{
			BrokerID: s.BrokerID, Credentials: []string{r.Credential},
		})
	}
	switch protocol.CodeOf(err) {
	case protocol.CodeNotFound, protocol.CodeGone, protocol.CodeMethodNotAllowed:
		return nil
	}
	return err
}

func (s *Revocations) report(ctx context.Context, step, taskID string, err error) {
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "streams not ended", "step", step, "task", taskID, "error", err)
	}
}
