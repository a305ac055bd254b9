package app

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/agenthost/journal"
	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/protocol"
)

// Recovery is what the commands need that compare hosts with the database.
type Recovery struct {
	BrokerID    string
	Incarnation string

	admin *Admin
	link  *hosts.Client
}

// NewRecovery reads the installation's ids.
func (a *Admin) NewRecovery(ctx context.Context) (*Recovery, error) {
	id, err := a.Store.InstallationID(ctx)
	if err != nil {
		return nil, err
	}
	incarnation := &broker.Incarnation{Store: a.Store, Log: a.config.Log}
	if err := incarnation.Load(ctx); err != nil {
		return nil, err
	}
	keys, err := a.sessionKeys(ctx)
	if err != nil {
		return nil, err
	}
	life := &broker.DatabaseLife{Store: a.Store, BrokerID: id, Place: "a command of bellhop", Log: a.config.Log}
	if err := life.Load(ctx); err != nil {
		return nil, err
	}
	link := hosts.New(hosts.Options{Keys: keys, Life: life.Life, Log: a.config.Log})
	return &Recovery{BrokerID: id, Incarnation: incarnation.ID(), admin: a, link: link}, nil
}

// Hosts returns the registered hosts, or the one of that name.
func (r *Recovery) Hosts(ctx context.Context, name string) ([]broker.Host, error) {
	all, err := r.admin.Store.Hosts(ctx)
	if err != nil || name == "" {
		return all, err
	}
	for i := range all {
		if all[i].Name == name {
			return all[i : i+1], nil
		}
	}
	return nil, &protocol.Error{
		Code: protocol.CodeNotFound, Message: fmt.Sprintf("no host is called %q", name),
		Hint: "'bellhop hosts list' shows the names.",
	}
}

func (r *Recovery) target(ctx context.Context, h *broker.Host) (broker.Target, error) {
	opened, err := r.admin.Store.Host(ctx, h.ID)
	if err != nil {
		return broker.Target{}, err
	}
	targets := &broker.Targets{Store: r.admin.Store, Now: r.admin.config.Now}
	return targets.OfHost(opened), nil
}

const reconcilePoll = 200 * time.Millisecond

// Reconcile has a host compare its sessions, all of them or those that are named, and
// waits until it has and the broker has the events. report gets every answer.
func (r *Recovery) Reconcile(
	ctx context.Context, h *broker.Host, sessions []string, report func(*protocol.ReconcileResponse),
) error {
	target, err := r.target(ctx, h)
	if err != nil {
		return err
	}
	err = broker.Audited(ctx, r.admin.Store, r.admin.config.Now, func(context.Context) (*broker.Act, error) {
		return broker.ReconcileAct(h, len(sessions)), nil
	})
	if err != nil {
		return err
	}
	req := &protocol.ReconcileRequest{BrokerID: r.BrokerID, Incarnation: r.Incarnation, Force: true, Sessions: sessions}
	for {
		answer, err := r.link.Reconcile(ctx, target, req)
		if protocol.CodeOf(err) == protocol.CodeNotFound {
			return &protocol.Error{
				Code: protocol.CodeNotFound, Message: "the host cannot compare its sessions with the database: it has no route for that",
			}
		}
		if err != nil {
			return err
		}
		report(answer)
		if answer.Pending == 0 && answer.Unacknowledged == 0 {
			return nil
		}
		req.Force = false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconcilePoll):
		}
	}
}

const verifyAtOnce = 4

// VerifyHost compares the journals of a host's sessions with the database, over the
// host's API. report is called for one session at a time.
func (r *Recovery) VerifyHost(ctx context.Context, h *broker.Host, report func(*broker.Verification)) error {
	target, err := r.target(ctx, h)
	if err != nil {
		return err
	}
	run := r.newVerification(ctx, report)
	for after := ""; ; {
		page, err := r.link.Sessions(ctx, target, r.BrokerID, after, protocol.MaxEventsPage)
		if err != nil {
			return run.wait(err)
		}
		for _, s := range page.Sessions {
			run.add(s.SessionID, s.Acknowledged, r.hostEvents(ctx, target, s.SessionID))
		}
		if page.NextAfter <= after {
			return run.wait(nil)
		}
		after = page.NextAfter
	}
}

// VerifyFile compares a journal's file with the database.
func (r *Recovery) VerifyFile(ctx context.Context, path string, report func(*broker.Verification)) (err error) {
	file, err := journal.OpenFile(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	sessions, err := file.Sessions(ctx, r.BrokerID)
	if err != nil {
		return err
	}
	run := r.newVerification(ctx, report)
	for i := range sessions {
		run.add(sessions[i].ID, sessions[i].Acked, file.Events(ctx, sessions[i].ID))
	}
	return run.wait(nil)
}

// verification compares some sessions at a time.
type verification struct {
	ctx      context.Context
	group    errgroup.Group
	verifier *broker.Verifier
	results  chan *broker.Verification
	reported chan struct{}
}

func (r *Recovery) newVerification(ctx context.Context, report func(*broker.Verification)) *verification {
	v := &verification{
		ctx: ctx, verifier: &broker.Verifier{Store: r.admin.Store},
		results: make(chan *broker.Verification), reported: make(chan struct{}),
	}
	v.group.SetLimit(verifyAtOnce)
	go func() {
		defer close(v.reported)
		for result := range v.results {
			report(result)
		}
	}()
	return v
}

func (v *verification) add(sessionID string, acknowledged protocol.Cursor, events iter.Seq2[json.RawMessage, error]) {
	v.group.Go(func() error {
		v.results <- v.verifier.Session(v.ctx, sessionID, acknowledged, events)
		return nil
	})
}

// wait returns err when all results are reported.
func (v *verification) wait(err error) error {
	_ = v.group.Wait() // the results carry the errors
	close(v.results)
	<-v.reported
	return err
}

// hostEvents yields all events of a session, from a host's API.
func (r *Recovery) hostEvents(
	ctx context.Context, target broker.Target, sessionID string,
) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for at := (protocol.Cursor{}); ; {
			page, err := r.link.EventPage(ctx, target, sessionID, at, protocol.MaxEventsPage)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, raw := range page.Events {
				if !yield(raw, nil) {
					return
				}
			}
			if len(page.Events) < protocol.MaxEventsPage && page.Epoch >= page.CurrentEpoch || len(page.Events) == 0 {
				return
			}
			at = protocol.Cursor{Epoch: page.Epoch, Seq: page.NextAfter}
		}
	}
}
