package broker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bellhop/broker/sequencer"
	"bellhop/internal/wait"
	"bellhop/protocol"
)

// Recovery asks hosts to compare their sessions with the database, because a restored
// database lacks events. A restore that no operator reported is detected here too: a
// host has receipts for events that the database does not have.
type Recovery struct {
	Store       RecoveryStore
	Link        RecoveryLink
	Targets     *Targets
	Incarnation *Incarnation
	Reconciler  *Reconciler // for hosts that serve their events and cannot compare; may be nil
	BrokerID    string      // this installation
	Now         func() time.Time
	Log         *slog.Logger

	mu     sync.Mutex
	states map[string]recoveryState // by URL
}

// RecoveryStore finds hosts and positions.
type RecoveryStore interface {
	Hosts(ctx context.Context) ([]Host, error)
	Host(ctx context.Context, id string) (*Host, error)
	// OwnHosts returns one task for each agent URL of the tasks that have no registered host.
	OwnHosts(ctx context.Context) ([]Task, error)
	// TaskIDs returns the tasks of a registered host; if hostID is "", those of the URL.
	TaskIDs(ctx context.Context, hostID, agentURL string) ([]string, error)
	// Cursors are those of the tasks that exist, deleted ones too.
	Cursors(ctx context.Context, taskIDs []string) (map[string]protocol.Cursor, error)
}

// RecoveryLink calls agent hosts about all their sessions. Errors are as for Link;
// CodeNotFound also means that the host has no such route.
type RecoveryLink interface {
	Reconcile(ctx context.Context, t Target, req *protocol.ReconcileRequest) (*protocol.ReconcileResponse, error)
	// Sessions leaves out the titles and owners of sessions that are bound to a key.
	Sessions(ctx context.Context, t Target, brokerID, after string, limit int) (*protocol.BoundSessionList, error)
	Session(ctx context.Context, t Target, sessionID string) (*protocol.BoundSession, error)
}

// recoveryState is the progress of one host.
type recoveryState struct {
	incarnation string // the incarnation for which all sessions were compared or pulled; "" = none
	tried       time.Time
}

const (
	recoveryEvery   = 10 * time.Second
	recoveryTimeout = 5 * time.Second
	recoveryAtOnce  = 16
	ownHostEvery    = 30 * time.Second // until a task's own host has compared; a registered host is asked at each round
)

// recoveryHost is a host to ask: a registered one, or the URL of some tasks.
type recoveryHost struct {
	target   Target
	hostID   string
	agentURL string
}

// Run asks the hosts at once and then every 10 s, until ctx ends.
func (r *Recovery) Run(ctx context.Context) error {
	wait.Every(ctx, recoveryEvery, r.Round)
	return nil
}

// Round asks each host once.
func (r *Recovery) Round(ctx context.Context) {
	hosts, err := r.hosts(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.Log.WarnContext(ctx, "hosts not asked to reconcile", "error", err)
		}
		return
	}
	var group errgroup.Group
	group.SetLimit(recoveryAtOnce)
	for _, h := range hosts {
		group.Go(func() error {
			if err := r.ask(ctx, h); err != nil && ctx.Err() == nil {
				r.Log.DebugContext(ctx, "a host was not asked to reconcile", "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // ask's errors are logged
}

func (r *Recovery) hosts(ctx context.Context) ([]recoveryHost, error) {
	registered, err := r.Store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	var all []recoveryHost
	for i := range registered {
		opened, err := r.Store.Host(ctx, registered[i].ID) // with its password
		if err != nil {
			continue // one damaged row must not stop the others
		}
		all = append(all, recoveryHost{target: opened.target(r.Now()), hostID: opened.ID})
	}
	tasks, err := r.Store.OwnHosts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		if !r.ownDue(trimURL(tasks[i].AgentURL)) {
			continue
		}
		if target, err := r.Targets.of(ctx, &tasks[i]); err == nil {
			all = append(all, recoveryHost{target: target, agentURL: tasks[i].AgentURL})
		}
	}
	return all, nil
}

// ownDue limits how often a task's own host is asked: users may name hosts that no
// longer exist.
func (r *Recovery) ownDue(url string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.states[url]
	return state.incarnation != r.Incarnation.ID() && r.Now().Sub(state.tried) >= ownHostEvery
}

// ask sends a host the incarnation and handles its answer.
func (r *Recovery) ask(ctx context.Context, h recoveryHost) error {
	ctx, cancel := context.WithTimeout(ctx, recoveryTimeout)
	defer cancel()
	id := r.Incarnation.ID()
	response, err := r.Link.Reconcile(ctx, h.target, &protocol.ReconcileRequest{BrokerID: r.BrokerID, Incarnation: id})
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return r.pull(ctx, h, id)
	case err != nil:
		r.note(h.target.URL, "")
		return err
	case response.Pending > 0:
		r.note(h.target.URL, "")
		return nil
	}
	r.note(h.target.URL, id)
	behind, err := r.behind(ctx, response.Acknowledged)
	if err != nil || !behind {
		return err
	}
	return r.Incarnation.end(ctx, id)
}

// note stores for which incarnation a host is done; "" = for none.
func (r *Recovery) note(url, incarnation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.states == nil {
		r.states = map[string]recoveryState{}
	}
	r.states[url] = recoveryState{incarnation: incarnation, tried: r.Now()}
}

func (r *Recovery) done(url, incarnation string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[url].incarnation == incarnation
}

// pull reconciles all tasks of a host that cannot compare. It does so once per incarnation.
func (r *Recovery) pull(ctx context.Context, h recoveryHost, incarnation string) error {
	if r.Reconciler == nil || r.done(h.target.URL, incarnation) {
		return nil
	}
	ids, err := r.Store.TaskIDs(ctx, h.hostID, h.agentURL)
	if err != nil {
		return err
	}
	for _, id := range ids {
		r.Reconciler.Wake(id)
	}
	r.note(h.target.URL, incarnation)
	return nil
}

// behind reports whether a host has a receipt for an event that the database does not
// have. The receipt is older than this read, so the event was lost by a restore.
func (r *Recovery) behind(ctx context.Context, acknowledged []protocol.SessionCursor) (bool, error) {
	if len(acknowledged) == 0 {
		return false, nil
	}
	ids := make([]string, len(acknowledged))
	for i := range acknowledged {
		ids[i] = acknowledged[i].SessionID
	}
	cursors, err := r.Store.Cursors(ctx, ids)
	if err != nil {
		return false, err
	}
	for _, a := range acknowledged {
		if cursor, known := cursors[a.SessionID]; known && sequencer.Regressed(cursor, a.Cursor) {
			r.Log.WarnContext(ctx, "a host has a receipt for an event that the database does not have", "task", a.SessionID)
			return true, nil
		}
	}
	return false, nil
}
