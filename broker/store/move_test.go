package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/migrations"
	"bellhop/protocol"
)

// migrate brings an earlier database to the present schema; no row is moved yet.
func (e earlier) migrate() {
	e.Helper()
	must(e.T, e.db.Migrate(e.Context(), migrations.For(e.db.Dialect())))
	e.db.Reconnect() // statements that were prepared before
}

// restart returns a store that remembers nothing of the one before.
func (e earlier) restart() *store.Store { return store.New(e.db, storetest.Sealer(e.T)) }

// same fails unless the store reads the wanted contents.
func (e earlier) same(s *store.Store, when string, want []contents) {
	e.Helper()
	for i := range want {
		got := e.read(s, i)
		for part, pair := range map[string][2]any{
			"messages": {got.messages, want[i].messages}, "events": {got.events, want[i].events},
			"other events": {got.others, want[i].others}, "changes": {got.changes, want[i].changes},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				e.Fatalf("%s: the %s of task %d differ %s", when, part, i, difference(pair[0], pair[1]))
			}
		}
	}
}

// difference shows the first elements in which two lists differ.
func difference(got, want any) string {
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range min(a.Len(), b.Len()) {
		if x, y := a.Index(i).Interface(), b.Index(i).Interface(); !reflect.DeepEqual(x, y) {
			return fmt.Sprintf("at %d: %+v\nwant  %+v", i, x, y)
		}
	}
	return fmt.Sprintf("%d, want %d", a.Len(), b.Len())
}

var errKilled = errors.New("killed")

// A move that is interrupted in any step leaves nothing of the step, the next broker
// continues, and readers never see a difference. The store is written to between the
// steps: a message changes, an event is appended, known events come again.
func TestAMoveGoesOnAfterEachInterruption(t *testing.T) {
	t.Parallel()
	const tasks, events = 2, 803
	earlierOn(t, tasks, events, func(e earlier) {
		before := make([]string, tasks)
		var want []contents
		for i := range tasks {
			before[i] = e.outside(i)
			want = append(want, e.written(i))
		}
		e.migrate()
		for i := range tasks {
			if got := e.outside(i); got != before[i] {
				e.Fatalf("the views of task %d differ from the tables before", i)
			}
		}
		s := e.restart()
		e.same(s, "before the first step", want)
		step := 0
		for more := true; more; step++ {
			err := s.Write(e.Context(), func(ctx context.Context) error {
				_, err := s.MoveStep(ctx)
				return errors.Join(err, errKilled)
			})
			if !errors.Is(err, errKilled) {
				e.Fatal(err)
			}
			s = e.restart()
			e.same(s, fmt.Sprint("step ", step, " was interrupted"), want)
			var err2 error
			more, err2 = s.MoveStep(e.Context())
			must(e.T, err2)
			e.write(s, step, &want[step%tasks])
			e.same(s, fmt.Sprint("after step ", step), want)
		}
		if left, err := s.MovesLeft(e.Context(), 10); left != 0 || err != nil || step < 3*tasks {
			e.Errorf("%d tasks left after %d steps, %v", left, step, err)
		}
		e.same(e.restart(), "at the end", want)
		for _, table := range []string{"old_events", "old_messages", "old_changes"} {
			var n int64
			must(e.T, e.db.Conn(e.Context()).Raw("SELECT count(*) FROM "+table).Row().Scan(&n))
			if n != 0 {
				e.Errorf("%d rows are left in %s", n, table)
			}
		}
	})
}

// write changes the tool use of event 10 × step + 1, appends a text, and sends known
// events again. It changes c alike.
func (e earlier) write(s *store.Store, step int, c *contents) {
	e.Helper()
	taskID := c.messages[0].TaskID
	tools, err := s.ToolMessages(e.Context(), taskID, []string{fmt.Sprint("c-", 10*step+1)})
	must(e.T, err)
	if len(tools) != 1 || tools[0].Seq != int64(10*step+2) {
		e.Fatalf("tool use %d: %+v", 10*step+1, tools)
	}
	for _, known := range []broker.StoredEvent{
		{EventID: c.events[0].EventID}, {EventID: "late"}, {EventID: "another", Epoch: 1, Seq: int64(e.events)},
	} {
		known.Body, known.ReceivedAt = []byte(`{}`), tools[0].CreatedAt
		err := withTask(e.Context(), s, taskID, func(context.Context, *broker.Task) *broker.Batch {
			return &broker.Batch{Events: []broker.StoredEvent{known}}
		})
		if !errors.Is(err, broker.ErrTaken) {
			e.Fatalf("event %s at %d came again: %v", known.EventID, known.Seq, err)
		}
	}
	must(e.T, withTask(e.Context(), s, taskID, func(_ context.Context, task *broker.Task) *broker.Batch {
		tools[0].Phase, tools[0].Rev = broker.PhaseBoth, task.Rev+1
		event, message, changes := nextText(task, tools[0].CreatedAt)
		changes[0].Rev++ // after the change of the tool use
		message.Rev++
		task.Rev += 2
		changes = append([]broker.ChangeRef{{Rev: task.Rev - 1, Kind: broker.ChangeMessage, Seq: tools[0].Seq}}, changes...)
		at := slices.IndexFunc(c.messages, func(m broker.Message) bool { return m.Seq == tools[0].Seq })
		c.messages[at] = tools[0]
		c.messages, c.events, c.changes = append(c.messages, message),
			append(c.events, bare(event)), append(c.changes, changes...)
		// A change of a message that was moved before its changes names the task.
		for i := range c.changes[:len(c.changes)-2] {
			if ref := &c.changes[i]; ref.Kind == broker.ChangeMessage && ref.Seq == tools[0].Seq &&
				e.left("old_changes", taskID, ref.Rev) {
				*ref = broker.ChangeRef{Rev: ref.Rev, Kind: broker.ChangeTask}
			}
		}
		return &broker.Batch{
			Events: []broker.StoredEvent{event}, NewMessages: []broker.Message{message},
			ChangedMessages: []broker.Message{tools[0]}, Changes: changes,
		}
	}))
}

func (e earlier) left(table, taskID string, rev int64) bool {
	e.Helper()
	var n int64
	must(e.T,
		e.db.Conn(e.Context()).Raw("SELECT count(*) FROM "+table+" WHERE task_id = ? AND rev = ?",
			taskID, rev).Row().Scan(&n))
	return n > 0
}

// bare is an event as the store reads it.
func bare(e broker.StoredEvent) broker.StoredEvent {
	return broker.StoredEvent{EventID: e.EventID, Epoch: e.Epoch, Seq: e.Seq, Body: e.Body, Late: e.Late}
}

// nextText is a text event after the task's cursor, which it moves. The task's rev is
// left to the caller.
func nextText(task *broker.Task, at time.Time) (broker.StoredEvent, broker.Message, []broker.ChangeRef) {
	task.Cursor.Seq++
	task.LastSeq++
	event := broker.StoredEvent{
		TaskID: task.ID, EventID: fmt.Sprint("e-", task.Cursor.Seq), Epoch: 1, Seq: task.Cursor.Seq, TurnID: "t1",
		Type: protocol.EventText, Body: []byte(`{"type":"text","id":"t","timestamp":1,"text":"new"}`), ReceivedAt: at,
	}
	message := broker.Message{Message: protocol.Message{
		ID: protocol.NewID(), TaskID: task.ID, Seq: task.LastSeq, Rev: task.Rev + 1, TurnID: "t1",
		Role: protocol.RoleAssistant, Status: protocol.MessageSent, Message: "new", Artifacts: []protocol.Artifact{},
		EventID: event.EventID, CreatedAt: at,
	}}
	return event, message, []broker.ChangeRef{{Rev: task.Rev + 1, Kind: broker.ChangeMessage, Seq: task.LastSeq}}
}

// Rows are moved while hosts send events, new ones and known ones: in make test of a
// few tasks, in make test-long a million of rows. Nothing is lost, doubled or changed.
func TestMillionsOfRowsAreMovedWhileEventsArrive(t *testing.T) {
	t.Parallel()
	tasks, events := 16, 50
	if os.Getenv("BELLHOP_LONG") != "" {
		tasks, events = 900, 400 // 361,800 events, 289,800 messages, 360,900 changes
	}
	earlierOn(t, tasks, events, func(e earlier) {
		start := time.Now()
		e.migrate()
		e.Logf("the schema changed in %v", time.Since(start).Round(time.Millisecond))
		s := e.restart()
		ctx, stop := context.WithCancel(e.Context())
		var hosts sync.WaitGroup
		sent := make([]int64, tasks)
		for host := range 4 {
			hosts.Go(func() { e.send(ctx, s, host, 4, sent) })
		}
		start = time.Now()
		must(t, s.Move(e.Context(), slog.New(slog.DiscardHandler)))
		e.Logf("the rows moved in %v", time.Since(start).Round(time.Millisecond))
		stop()
		hosts.Wait()
		var total int64
		for i := range tasks {
			want, got := e.written(i), e.read(s, i)
			total += sent[i]
			if got.task.Rev = sent[i]; len(got.events) != events+int(sent[i]) ||
				len(got.messages) != len(want.messages)+int(sent[i]) {
				e.Errorf("task %d: %d events, %d messages; want %d and %d more", i, len(got.events), len(got.messages),
					events, sent[i])
				continue
			}
			got.messages, got.events = got.messages[:len(want.messages)], got.events[:events]
			if !reflect.DeepEqual(got.messages, want.messages) || !reflect.DeepEqual(got.events, want.events) {
				e.Errorf("task %d: %s\n%s", i, difference(got.messages, want.messages), difference(got.events, want.events))
			}
			if len(got.changes) != len(want.changes)+int(sent[i]) ||
				!reflect.DeepEqual(got.changes[:len(want.changes)], want.changes) {
				e.Errorf("task %d: changes: %s", i, difference(got.changes, want.changes))
			}
		}
		if total == 0 {
			e.Error("no event arrived meanwhile")
		}
		e.Logf("%d events arrived meanwhile", total)
	})
}

// send plays one of n hosts: to each of its tasks it sends a known event, then a new one.
func (e earlier) send(ctx context.Context, s *store.Store, host, n int, sent []int64) {
	for round := 0; ; round++ {
		for i := host; i < e.tasks; i += n {
			if ctx.Err() != nil && round > 0 {
				return
			}
			known := broker.StoredEvent{EventID: fmt.Sprint("e-", 1+round%e.events), Body: []byte("{}"), ReceivedAt: time.Now()}
			err := withTask(e.Context(), s, e.id(i), func(context.Context, *broker.Task) *broker.Batch {
				return &broker.Batch{Events: []broker.StoredEvent{known}}
			})
			if !errors.Is(err, broker.ErrTaken) {
				e.Errorf("task %d: %s again: %v", i, known.EventID, err)
				return
			}
			err = withTask(e.Context(), s, e.id(i), func(_ context.Context, task *broker.Task) *broker.Batch {
				event, message, changes := nextText(task, time.Now().UTC().Truncate(time.Microsecond))
				task.Rev++
				return &broker.Batch{Events: []broker.StoredEvent{event}, NewMessages: []broker.Message{message}, Changes: changes}
			})
			if err != nil {
				e.Errorf("task %d: %v", i, err)
				return
			}
			sent[i]++
		}
	}
}

// A store that has seen the end of the move looks again after the database came back
// from a backup: that may be from a time before.
func TestABackupMayHaveRowsToMove(t *testing.T) {
	t.Parallel()
	earlierOn(t, 1, 20, func(e earlier) {
		e.migrate()
		s := e.restart()
		first, err := s.Incarnation(e.Context())
		must(t, err)
		must(t, s.Move(e.Context(), slog.New(slog.DiscardHandler)))
		e.same(s, "after the move", []contents{e.written(0)})
		exec(t, e.db, `INSERT INTO log_moves (task_id) VALUES ('task-1')`)
		exec(t, e.db, `INSERT INTO old_messages (task_id, id, seq, rev, turn_id, role, status, message, artifacts, event_id, phase, body_hash, created_at)
			SELECT 'task-1', 'restored', 100, 100, 't1', 'USER', 'SENT', 'x', '[]', '', '', '', created_at FROM tasks`)
		if _, err := s.EndIncarnation(e.Context(), first); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Message(e.Context(), "task-1", "restored"); err != nil || m.Seq != 100 {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// Known events get new positions before their rows are moved: a late one with the
// message that it leaves now, and one with a message.
func TestEventsGetPositionsBeforeTheirRowsAreMoved(t *testing.T) {
	t.Parallel()
	earlierOn(t, 1, 20, func(e earlier) {
		e.migrate()
		s, want := e.restart(), e.written(0)
		message := protocol.Message{
			ID: "revived", TaskID: "task-1", Seq: 30, Rev: 30, TurnID: "t0", Role: protocol.RoleAssistant,
			Status: protocol.MessageSent, Message: "at last", Artifacts: []protocol.Artifact{},
			EventID: "late", CreatedAt: early,
		}
		body := []byte(`{"type":"text","id":"t","timestamp":1,"text":"at last"}`)
		moved := []broker.StoredEvent{
			{EventID: "late", Epoch: 2, Seq: 1, TurnID: "t0", Type: protocol.EventText, Body: body, ReceivedAt: early},
			{
				EventID: "e-4", Epoch: 2, Seq: 2, TurnID: "t1", Type: protocol.EventText,
				Body: want.events[3].Body, ReceivedAt: early,
			},
		}
		must(t, withTask(t.Context(), s, "task-1", func(context.Context, *broker.Task) *broker.Batch {
			return &broker.Batch{MovedEvents: moved, NewMessages: []broker.Message{{Message: message}}}
		}))
		want.messages = append(want.messages, broker.Message{Message: message})
		want.events = append(slices.Delete(want.events, 3, 4), bare(moved[0]), bare(moved[1]))
		want.others[1] = bare(moved[0])
		want.changes[4] = broker.ChangeRef{Rev: 5, Kind: broker.ChangeTask} // its message was moved before it
		e.same(s, "before the move", []contents{want})
		must(t, s.Move(t.Context(), slog.New(slog.DiscardHandler)))
		e.same(s, "after the move", []contents{want})
		taken := withTask(t.Context(), s, "task-1", func(context.Context, *broker.Task) *broker.Batch {
			return &broker.Batch{
				MovedEvents: []broker.StoredEvent{{EventID: "e-5", Epoch: 1, Seq: 6, Body: body, ReceivedAt: early}},
			}
		})
		if !errors.Is(taken, broker.ErrTaken) {
			t.Errorf("a position that is taken: %v", taken)
		}
	})
}
