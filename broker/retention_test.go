package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// faultyStore is a store with faults.
type faultyStore struct {
	*store.Store
	purge       func(ctx context.Context) error // instead of PurgeTasks; nil = none
	changes     error                           // of PruneChanges
	refuseTask  string                          // ClearQueue fails for it
	eraseFailed error                           // of EraseUser
}

func (s *faultyStore) PurgeTasks(ctx context.Context, before time.Time) (int64, error) {
	if s.purge != nil {
		return 0, s.purge(ctx)
	}
	return s.Store.PurgeTasks(ctx, before)
}

func (s *faultyStore) PruneChanges(ctx context.Context, keep int64) (int64, error) {
	if s.changes != nil {
		return 0, s.changes
	}
	return s.Store.PruneChanges(ctx, keep)
}

func (s *faultyStore) ClearQueue(ctx context.Context, taskID string) error {
	if taskID == s.refuseTask {
		return errors.New("no")
	}
	return s.Store.ClearQueue(ctx, taskID)
}

func (s *faultyStore) EraseUser(ctx context.Context, id string) error {
	return errors.Join(s.eraseFailed, s.Store.EraseUser(ctx, id))
}

// A host that missed the receipt may send events again whose bodies are gone. Nothing is stored twice, and the
// messages stay.
func TestEventsWithoutBodiesAreStillKnown(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		task := k.task()
		call := `'type':'tool-call','toolCallId':'c1','toolName':'sh','input':{'cmd':'ls'}`
		sent := []string{seqd(1, 1, "t1", text("one")), seqd(1, 2, "t1", call), seqd(1, 3, "t1", finishStop)}
		k.mustSend(task.ID, "", sent...)
		brief := func() string {
			text, err := json.Marshal(k.brief(task.ID))
			k.must(err)
			return string(text)
		}
		shown := brief()
		k.upkeep.Retention.Events = 24 * time.Hour
		k.upkeep.Prune(k.ctx)
		bodiesOf := func() (with int) {
			known, err := k.store.KnownEvents(k.ctx, task.ID, []string{"e1-1", "e1-2", "e1-3"})
			k.must(err)
			for i := range known {
				if known[i].Body != nil {
					with++
				}
			}
			return with
		}
		if n := bodiesOf(); n != 3 {
			t.Fatalf("%d bodies of young events", n)
		}
		k.clock.Advance(25 * time.Hour)
		k.upkeep.Prune(k.ctx)
		if n := bodiesOf(); n != 1 {
			t.Fatalf("%d bodies of old events, want the text's", n)
		}
		answer := k.mustSend(task.ID, "", sent...)
		if answer.Cursor == nil || *answer.Cursor != (protocol.Cursor{Epoch: 1, Seq: 3}) {
			t.Errorf("%+v", answer)
		}
		if _, err := k.send(task.ID, "", seqd(1, 1, "t1", text("other"))); protocol.CodeOf(err) != protocol.CodeConflict {
			t.Errorf("other content of an event with a body: %v", err)
		}
		if got := brief(); got != shown {
			t.Errorf("%s, want %s", got, shown)
		}
		k.mustSend(task.ID, "", seqd(1, 4, "t2", text("two")))
		v := (&broker.Verifier{Store: k.store}).Session(k.ctx, task.ID, protocol.Cursor{Epoch: 1, Seq: 4},
			bodies(append(sent, seqd(1, 4, "t2", text("two")))))
		if !v.OK() || v.Stored != 4 || v.Pruned != 2 {
			t.Errorf("%+v", v)
		}
	})
}

// An archived task that nothing has changed for its retention is deleted like by its user, with an entry in
// the audit log. A task with an open turn is not.
func TestArchivedTasksExpire(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		k := kitOn(t, open(t))
		yes := true
		old, asking, young, active := k.task().ID, k.task().ID, k.task().ID, k.task().ID
		k.mustSend(old, "", seqd(1, 1, "t1", text("x")), seqd(1, 2, "t1", finishStop))
		k.mustSend(asking, "", seqd(1, 1, "t1", text("x")))
		archive := func(id string) {
			_, err := k.tasks.Update(k.ctx, k.user, id, broker.TaskPatch{Archived: &yes})
			k.must(err)
		}
		archive(old)
		archive(asking)
		k.clock.Advance(48 * time.Hour)
		archive(young)
		k.clock.Advance(time.Second)
		k.upkeep.Prune(k.ctx)
		want := func(gone ...string) {
			t.Helper()
			for _, id := range []string{old, asking, young, active} {
				_, err := k.tasks.Get(k.ctx, k.user.UserID, id, broker.Await{})
				if (protocol.CodeOf(err) == protocol.CodeNotFound) != slices.Contains(gone, id) {
					t.Errorf("task %s: %v", id, err)
				}
			}
		}
		want() // there is no retention
		k.upkeep.Retention.Archived = 48 * time.Hour
		for range 2 {
			k.upkeep.Prune(k.ctx)
			want(old)
		}
		k.wantAudit("task.expired by broker on task " + old + " null")
		k.host.ended()
		k.round(time.Minute, old)
	})
}

// An erasure that one task or one table stops continues with the others, and with these the next time. Its
// completion is in the audit log.
func TestAnErasureGoesOnPastFaults(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	root := k.user
	k.user = k.newUser("eve@example.org", false)
	eve, first, second := k.user.UserID, k.session(""), k.session("")
	k.user = root
	faulty := &faultyStore{Store: k.store, refuseTask: min(first, second), eraseFailed: errors.New("no")}
	k.tasks.Store, k.upkeep.Store = faulty, faulty
	_, err := k.store.UpdateUser(k.ctx, eve, func(u *broker.User) error {
		at := k.clock.Now()
		u.DeletedAt, u.Email = &at, u.ID
		return nil
	})
	k.must(err)
	k.upkeep.Prune(k.ctx)
	for _, id := range []string{first, second} {
		task, err := k.store.AnyTask(k.ctx, id)
		k.must(err)
		if (task.DeletedAt == nil) != (id == faulty.refuseTask) {
			t.Errorf("task %s: deleted %v", id, task.DeletedAt)
		}
	}
	faulty.refuseTask = ""
	k.upkeep.Prune(k.ctx)
	k.round(time.Minute, first, second)
	k.clock.Advance(48 * time.Hour)
	k.upkeep.Prune(k.ctx)
	if _, err := k.store.User(k.ctx, eve); err != nil {
		t.Errorf("the user is gone before their rows: %v", err)
	}
	k.wantAudit()
	faulty.eraseFailed = nil
	k.upkeep.Prune(k.ctx)
	k.wantAudit("user.erased by broker on user " + eve + " null")
}

// steps is an observer that records the steps of retention.
type steps struct {
	mu      sync.Mutex
	results map[string]string
	rows    map[string]int
}

func (s *steps) Begin(ctx context.Context, _ observe.Start) (context.Context, observe.Observer) {
	return ctx, s
}

func (s *steps) End(_ context.Context, start observe.Start, _ time.Duration, out observe.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[start.Name] += out.Accepted
	if out.Result != observe.ResultRemoved {
		s.results[start.Name] = out.ResultOf()
	}
}

func TestAStepOfRetentionThatFailsKeepsNoOther(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	seen := &steps{results: map[string]string{}, rows: map[string]int{}}
	k.upkeep.Observer = seen
	k.upkeep.Retention = broker.Retention{Audit: 48 * time.Hour, Changes: 1000}
	unavailable := protocol.Errorf(protocol.CodeUnavailable, "no")
	k.upkeep.Store = &faultyStore{
		Store: k.store, changes: unavailable, purge: func(context.Context) error { return unavailable },
	}
	for range 3 {
		old := k.clock.Now().Add(-72 * time.Hour)
		k.must(k.store.AddAudit(k.ctx, protocol.AuditEntry{At: old, Action: protocol.AuditSignIn}))
	}
	k.upkeep.Prune(k.ctx)
	want := map[string]string{
		"logins": "ok", "deleted-tasks": "unavailable", "deleted-users": "ok", "changes": "unavailable", "audit-log": "ok",
		"share-links": "ok", "acts": "ok",
	}
	if fmt.Sprint(seen.results) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", seen.results, want)
	}
	if seen.rows["audit-log"] != 3 {
		t.Errorf("%v rows", seen.rows)
	}
}

// The purge of a large task takes minutes. Meanwhile messages that no host accepted fail in time.
func TestPruningDelaysNoSweep(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		k := kitOn(t, st)
		k.sessions.Now, k.tasks.Now, k.upkeep.Now, k.updater.Now = time.Now, time.Now, time.Now, time.Now
		k.upkeep.Store = &faultyStore{Store: st, purge: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		task := k.task()
		k.host.onOpen = func(*protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) { panic("killed") }
		func() {
			defer func() { _ = recover() }()
			k.checkIn(task.ID, "x")
		}()
		ctx, cancel := context.WithCancel(k.ctx)
		done := make(chan error)
		go func() { done <- k.upkeep.Run(ctx) }()
		time.Sleep(45 * time.Second)
		if status := k.messages(task.ID)[0].Status; status != protocol.MessageError {
			t.Errorf("after 45 s the message is %s", status)
		}
		cancel()
		k.must(<-done)
	})
}
