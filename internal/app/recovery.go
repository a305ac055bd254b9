package app

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"bellhop/broker"
	"bellhop/broker/hosts"
	"bellhop/internal/netguard"
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
//
// Own agent URLs of users are dialled at public addresses and in allow alone.
func (a *Admin) NewRecovery(ctx context.Context, allow ...netip.Prefix) (*Recovery, error) {
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
	guard := netguard.New(netguard.Options{AllowCIDRs: allow})
	link := hosts.New(hosts.Options{
		Keys: keys, Life: life.Life, Guarded: guard.Client(hosts.Timeouts()), Log: a.config.Log,
	})
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
