package broker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func TestQueuesOfArchivedAndDeletedTasksAreNotSent(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.add("a")
	yes, no := true, false
	_, err := q.tasks.Update(q.ctx, q.user, q.task, broker.TaskPatch{Archived: &yes})
	q.must(err)
	q.queue.Round(q.ctx)
	_, err = q.queue.Add(q.ctx, q.user.UserID, q.task, &protocol.QueueMessageRequest{Message: "b"})
	same(t, fault(err), `{'code':'conflict','error':'The task is archived','hint':'Take it out of the archive first'}`)
	_, err = q.queue.SendNow(q.ctx, q.user.UserID, q.task, "a")
	same(t, fault(err), `{'code':'conflict','error':'The task is archived','hint':'Take it out of the archive first'}`)
	q.queue.Round(q.ctx)
	q.wantStarted("")
	_, err = q.tasks.Update(q.ctx, q.user, q.task, broker.TaskPatch{Archived: &no})
	q.must(err)
	q.queue.Round(q.ctx)
	q.wantStarted("a")
	q.add("b")
	q.must(q.delete(q.user.UserID, q.task))
	q.clock.Advance(time.Minute)
	q.queue.Round(q.ctx)
	q.wantStarted("a")
	if left, err := q.store.Queued(q.ctx, q.task); err != nil || len(left) != 0 {
		t.Errorf("a deleted task has %d queued messages, %v", len(left), err)
	}
}

// A message that no attempt sends any more can be changed and removed while the queue is held.
func TestAMessageWhoseAttemptDiedIsNotSendingForever(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, q *queueKit) {
		yes := true
		for name, hold := range map[string]func(){
			"paused": func() {
				_, err := q.queue.SetPaused(q.ctx, q.user.UserID, q.task, protocol.QueueChange{Paused: &yes})
				q.must(err)
			},
			"archived": func() {
				_, err := q.tasks.Update(q.ctx, q.user, q.task, broker.TaskPatch{Archived: &yes})
				q.must(err)
			},
		} {
			t.Run(name, func(t *testing.T) {
				q.t, q.task = t, q.kit.task().ID
				once := dies()
				q.host.onOpen = func(r *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
					once()
					return q.at.opens(r)
				}
				q.add("a")
				q.queue.Round(q.ctx)
				if m := q.first(); m.State != protocol.QueuedSending {
					t.Fatalf("the queued message is %+v", m)
				}
				hold()
				second := q.replica()
				second.Round(q.ctx)
				if m := q.first(); m.State != protocol.QueuedSending {
					t.Errorf("while the lease lasts, the queued message is %+v", m)
				}
				q.clock.Advance(31 * time.Second)
				second.Round(q.ctx)
				if m := q.first(); m.State != protocol.QueuedWaiting {
					t.Errorf("the queued message is %+v", m)
				}
				q.wantStarted("")
				q.must(q.queue.Remove(q.ctx, q.user.UserID, q.task, "a"))
			})
		}
	})
}

// A backup has the message in the queue, although its turn ran since.
func TestARestoredQueueDoesNotRunAMessageAgain(t *testing.T) {
	t.Parallel()
	for name, comesLate := range map[string]bool{"the broker has the turn": false, "only the host has the turn": true} {
		t.Run(name, func(t *testing.T) {
			q := newQueueKit(t)
			q.add("a")
			backup, err := q.store.Queued(q.ctx, q.task)
			q.must(err)
			q.queue.Round(q.ctx)
			q.wantStarted("a")
			if !comesLate {
				q.events("a", text("x"), finishStop)
			}
			q.must(q.store.AddQueued(q.ctx, &backup[0], nil))
			q.queue.Round(q.ctx)
			q.wantStarted("a")
			if comesLate {
				q.clock.Advance(time.Minute)
				q.queue.Round(q.ctx)
				q.wantStarted("a")
				q.events("a", text("x"), finishStop)
			}
			q.clock.Advance(time.Minute)
			q.queue.Round(q.ctx)
			q.wantStarted("a")
			if left, err := q.store.Queued(q.ctx, q.task); err != nil || len(left) != 0 {
				t.Errorf("%d messages are left, %v", len(left), err)
			}
		})
	}
}

func TestTheQueueOfADisabledUserWaits(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, q *queueKit) {
		disable := func(disabled bool) {
			t.Helper()
			at := q.clock.Now()
			_, err := q.store.UpdateUser(q.ctx, q.user.UserID, func(u *broker.User) error {
				if u.DisabledAt = nil; disabled {
					u.DisabledAt = &at
				}
				return nil
			})
			q.must(err)
		}
		q.newUser("root@example.org", true)
		q.add("a", "b", "c")
		q.queue.Round(q.ctx)
		q.events("a", text("x"))
		disable(true)
		q.queue.Round(q.ctx)
		q.wantQueue("b c") // the agent works on a: nothing is due
		q.events("a", finishStop)
		for range 3 {
			q.queue.Round(q.ctx)
			q.clock.Advance(time.Hour)
		}
		q.wantStarted("a")
		q.wantQueue("b c | user-disabled")
		disable(false)
		q.queue.Round(q.ctx)
		q.wantStarted("a,b")
		q.wantQueue("c")

		// The user is disabled while the broker opens the session.
		q.events("b", text("x"), finishStop)
		open := q.host.onOpen
		q.host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
			disable(true)
			return open(req)
		}
		for range 2 {
			q.queue.Round(q.ctx)
			q.clock.Advance(time.Hour)
		}
		q.wantStarted("a,b")
		q.wantQueue("c | user-disabled")
		q.host.onOpen = open

		// A pause of a user's own stays when the user is enabled.
		_, err := q.sessions.Interrupt(q.ctx, q.user.UserID, q.task, "")
		q.must(err)
		disable(false)
		q.queue.Round(q.ctx)
		q.wantQueue("c | stopped")
		q.wantStarted("a,b")
	})
}

func TestAMessageThatTheHostMayHaveIsNotRepeatedForADisabledUser(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.newUser("root@example.org", true)
	q.at.afterStart = dies() // the broker dies before it knows the outcome
	q.add("a", "b")
	q.queue.Round(q.ctx)
	q.wantQueue("a:sending b")
	at := q.clock.Now()
	_, err := q.store.UpdateUser(q.ctx, q.user.UserID, func(u *broker.User) error {
		u.DisabledAt = &at
		return nil
	})
	q.must(err)
	opened := len(q.host.opened)
	for range 3 {
		q.clock.Advance(time.Hour)
		q.queue.Round(q.ctx)
	}
	if len(q.host.opened) != opened {
		t.Errorf("the host was asked %d times", len(q.host.opened)-opened)
	}
	q.wantQueue("a:sending b")
	q.events("a", text("x"), finishStop)
	q.clock.Advance(time.Hour)
	q.queue.Round(q.ctx)
	q.clock.Advance(time.Hour)
	q.queue.Round(q.ctx)
	q.wantHistory("a:SENT")
	q.wantQueue("b | user-disabled")
	q.wantStarted("a")
}

// oneDueQueue is a store whose batches have one task.
type oneDueQueue struct{ broker.QueueStore }

func (s oneDueQueue) DueQueues(
	ctx context.Context, now time.Time, skip []string, _ int,
) ([]broker.DueTask, error) {
	return s.QueueStore.DueQueues(ctx, now, skip, 1)
}

func TestAHostThatDoesNotAnswerKeepsNoOtherHostsQueues(t *testing.T) {
	t.Parallel()
	q := newQueueKit(t)
	q.queue.Store = oneDueQueue{q.store}
	q.add("to the silent host")
	q.task = q.kit.task().ID
	q.add("to the silent host too")
	q.clock.Advance(time.Second)
	other, err := q.tasks.Create(q.ctx, q.user, &protocol.CreateTaskRequest{
		Title: "Elsewhere", AgentURL: "https://other.example/", AgentPassword: "agent-password",
	})
	q.must(err)
	silent, asked, reached := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var prompts atomic.Int32
	q.at.beforeStart = func() {
		if prompts.Add(1) > 1 {
			close(reached)
			return
		}
		close(asked)
		<-silent
	}
	ctx, cancel := context.WithCancel(q.ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = q.queue.Run(ctx) })
	<-asked
	q.task = other.ID
	q.add("to the other")
	q.queue.Wake()
	select {
	case <-reached:
	case <-time.After(time.Minute):
		t.Error("the other host was not asked")
	}
	close(silent)
	cancel()
	running.Wait()
}
