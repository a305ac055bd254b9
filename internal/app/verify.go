package app

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"bellhop/agenthost/journal"
	"bellhop/broker"
	"bellhop/protocol"
)

const (
	verifyAtOnce = 4
	tasksPage    = 1000
)

// VerifyScope says which tasks are compared, and with what. The zero value is all tasks, with their hosts.
type VerifyScope struct {
	Host     string   // only the tasks of the host of this name
	Journals []string // files that are read instead of asking hosts
}

// VerifyReport receives what Verify finds, one call at a time.
type VerifyReport struct {
	Task       func()                     // a task that exists and has events
	Compared   func(*broker.Verification) // a session
	Uncompared func(reason, taskID string)
}

// Verify walks the tasks of the database, and compares the events of each with the journal of its host. It compares the
// sessions that only a host has, too. The error of a host is a reason for its tasks, with an empty id if it has none.
func (r *Recovery) Verify(ctx context.Context, scope VerifyScope, report VerifyReport) error {
	walk := &taskWalk{
		recovery: r, scope: scope, report: report, sources: map[string]*source{},
		tasks: map[string]walked{}, targets: &broker.Targets{Store: r.admin.Store, Now: r.admin.config.Now},
	}
	if err := walk.run(ctx); err != nil {
		return err
	}
	for _, path := range scope.Journals {
		if err := r.verifyFile(ctx, path, walk); err != nil {
			return err
		}
	}
	if len(scope.Journals) > 0 {
		walk.leave(nil, "it is in no journal that was read")
		return ctx.Err()
	}
	for _, s := range walk.order {
		if err := r.verifySource(ctx, s, walk); err != nil {
			if why := fmt.Sprintf("%s: %v", s.name, err); walk.leave(s, why) == 0 {
				report.Uncompared(why, "")
			}
		}
	}
	walk.leave(nil, "its host has no such session")
	return ctx.Err()
}

// source is a host.
type source struct {
	name   string
	target broker.Target
}

// walked is a task, or a session of a host without one.
type walked struct {
	source *source
	counts bool // the task exists and has events
	isDone bool // it was compared or reported, or is not in the scope
}

// taskWalk finds the host of each task.
type taskWalk struct {
	recovery *Recovery
	scope    VerifyScope
	report   VerifyReport
	targets  *broker.Targets
	sources  map[string]*source // by the id of a registered host, or what an own URL is asked with
	order    []*source
	tasks    map[string]walked
}

func (w *taskWalk) add(key, name string, target broker.Target) *source {
	s := &source{name: name, target: target}
	w.sources[key], w.order = s, append(w.order, s)
	return s
}

func (w *taskWalk) run(ctx context.Context) error {
	registered, err := w.recovery.Hosts(ctx, w.scope.Host)
	if err != nil {
		return err
	}
	for i := range registered {
		target, err := w.recovery.target(ctx, &registered[i])
		if err != nil {
			return err
		}
		w.add(registered[i].ID, "host "+registered[i].Name, target)
	}
	for after := int64(0); ; {
		page, err := w.recovery.admin.Store.TasksAfter(ctx, after, tasksPage)
		if err != nil {
			return err
		}
		for i := range page {
			w.task(ctx, &page[i])
			after = page[i].No
		}
		if len(page) < tasksPage {
			return ctx.Err()
		}
	}
}

func (w *taskWalk) task(ctx context.Context, t *broker.Task) {
	s := w.sources[t.HostID]
	if w.scope.Host != "" && s == nil {
		w.tasks[t.ID] = walked{isDone: true}
		return
	}
	counts := t.LastEventAt != nil && t.DeletedAt == nil
	if counts {
		w.report.Task()
	}
	why := ""
	switch {
	case t.HostID == "" && t.AgentURL == "":
		why = "its host was removed"
	case !t.HostEvents && counts:
		why = "its host is a basic server, which keeps no journal"
	case s == nil && counts:
		var err error
		if s, err = w.own(ctx, t); err != nil {
			why = err.Error()
		}
	}
	switch {
	case why == "" && s != nil:
		w.tasks[t.ID] = walked{source: s, counts: counts}
	case counts:
		w.report.Uncompared(why, t.ID)
	}
}

// own returns the host at a task's own URL, which is asked once for all tasks with the same passwords.
func (w *taskWalk) own(ctx context.Context, t *broker.Task) (*source, error) {
	target, err := w.targets.OfTask(ctx, t)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(target.URL, " ", target.Guarded, " ", revealed(target.Passwords))
	if s := w.sources[key]; s != nil {
		return s, nil
	}
	return w.add(key, "agent URL "+target.URL, target), nil
}

// take reports whether a session that a host or a file (nil) has is to be compared with that: its task has no other
// host, and it was not compared yet.
func (w *taskWalk) take(id string, from *source) bool {
	t, known := w.tasks[id]
	if t.isDone || known && from != nil && t.source != from {
		return false
	}
	t.isDone = true
	w.tasks[id] = t
	return true
}

// leave reports the tasks of a host, or of all (nil), that were not compared, and returns how many.
func (w *taskWalk) leave(from *source, why string) (n int) {
	for id, t := range w.tasks {
		if t.isDone || from != nil && t.source != from {
			continue
		}
		t.isDone = true
		w.tasks[id] = t
		if t.counts {
			w.report.Uncompared(why, id)
			n++
		}
	}
	return n
}

// verifySource compares the journals of a host's sessions over the host's API.
func (r *Recovery) verifySource(ctx context.Context, s *source, walk *taskWalk) error {
	run := r.newVerification(ctx, walk.report.Compared)
	defer run.wait()
	for after := ""; ; {
		page, err := r.link.Sessions(ctx, s.target, r.BrokerID, after, protocol.MaxEventsPage)
		if err != nil {
			return err
		}
		for _, found := range page.Sessions {
			if walk.take(found.SessionID, s) {
				run.add(found.SessionID, found.Acknowledged, r.hostEvents(ctx, s.target, found.SessionID))
			}
		}
		if page.NextAfter <= after {
			return nil
		}
		after = page.NextAfter
	}
}

// verifyFile compares a journal's file with the database.
func (r *Recovery) verifyFile(ctx context.Context, path string, walk *taskWalk) error {
	file, err := journal.OpenFile(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	sessions, err := file.Sessions(ctx, r.BrokerID)
	if err != nil {
		return err
	}
	run := r.newVerification(ctx, walk.report.Compared)
	defer run.wait()
	for i := range sessions {
		if walk.take(sessions[i].ID, nil) {
			run.add(sessions[i].ID, sessions[i].Acked, file.Events(ctx, sessions[i].ID))
		}
	}
	return nil
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

// wait returns when all results are reported.
func (v *verification) wait() {
	_ = v.group.Wait() // the results carry the errors
	close(v.results)
	<-v.reported
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
