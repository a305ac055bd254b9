package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// testAppend checks that Append writes only if the task is in the state that the
// caller expects.
func testAppend(t *testing.T, s suite) {
	if !s.store.Appends() {
		return
	}
	task := s.task(s.user())
	at, other := protocol.Cursor{}, protocol.Cursor{Epoch: 1, Seq: 4}
	for _, c := range []struct {
		rule   string
		rev    int64
		cursor protocol.Cursor
		events []broker.StoredEvent
		want   bool
		err    error
	}{
		{"another rev", 3, at, []broker.StoredEvent{{EventID: "a", Epoch: 1, Seq: 1}}, false, nil},
		{"another cursor", 0, other, []broker.StoredEvent{{EventID: "a", Epoch: 1, Seq: 1}}, false, nil},
		{
			"the expected state, several events", 0, at,
			[]broker.StoredEvent{{EventID: "a", Epoch: 1, Seq: 1}, {EventID: "b", Epoch: 1, Seq: 2}},
			true, nil,
		},
		{"a second time", 0, at, []broker.StoredEvent{{EventID: "c", Epoch: 1, Seq: 1}}, false, nil},
		{
			"a used event id", 2,
			protocol.Cursor{Epoch: 1, Seq: 2},
			[]broker.StoredEvent{{EventID: "a", Epoch: 1, Seq: 3}},
			false, broker.ErrTaken,
		},
		{
			"on from there", 2,
			protocol.Cursor{Epoch: 1, Seq: 2},
			[]broker.StoredEvent{{EventID: "c", Epoch: 1, Seq: 3}},
			true, nil,
		},
	} {
		if done, err := s.append(task, c.rev, c.cursor, c.events...); done != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %t, %v", c.rule, done, err)
		}
	}
	got, err := s.store.AnyTask(s.ctx, task.ID)
	s.must(err)
	list, err := s.store.Messages(s.ctx, task.ID, broker.MessageQuery{Limit: 10})
	s.must(err)
	if got.Rev != 3 || got.Cursor != (protocol.Cursor{Epoch: 1, Seq: 3}) || got.Title != "x" ||
		!got.LastEventAt.Equal(now.Add(time.Hour)) ||
		len(list) != 3 || list[0].Message.Message != "it's ?" || list[2].EventID != "c" {
		t.Errorf("%+v, %+v", got, list)
	}
	refs, err := s.store.ChangeRefs(s.ctx, task.ID, 1, 10)
	s.must(err)
	if fmt.Sprint(refs) != "[{2 message 2 } {3 message 3 }]" {
		t.Errorf("%v", refs)
	}
	s.must(s.apply(task.ID, func(b *broker.Batch) { b.Task.DeletedAt = &now }))
	deleted := broker.StoredEvent{EventID: "d", Epoch: 1, Seq: 4}
	if done, err := s.append(task, 3, protocol.Cursor{Epoch: 1, Seq: 3}, deleted); done || err != nil {
		t.Errorf("to a deleted task: %t, %v", done, err)
	}
}

// append appends events and a message of each to a task that is expected at rev and cursor.
func (s suite) append(
	task *broker.Task, rev int64, cursor protocol.Cursor, events ...broker.StoredEvent,
) (bool, error) {
	next := *task
	next.Rev, next.LastSeq, next.Title = rev+int64(len(events)), rev+int64(len(events)), "not written"
	next.Cursor = protocol.Cursor{Epoch: 1, Seq: cursor.Seq + int64(len(events))}
	next.ChangedAt = now.Add(time.Hour)
	batch := &broker.Batch{Task: &next, Events: events}
	for i := range events {
		events[i].TaskID, events[i].ReceivedAt, events[i].Type = task.ID, now, protocol.EventText
		events[i].Body = []byte(`{"type":"text","id":"t","timestamp":1,"text":"it's ?"}`)
		n := int64(i) + 1
		batch.NewMessages = append(batch.NewMessages, broker.Message{Message: protocol.Message{
			ID: protocol.NewID(), TaskID: task.ID, Seq: rev + n, Rev: rev + n, CreatedAt: now, Message: "it's ?",
			EventID: events[i].EventID,
		}})
		batch.Changes = append(batch.Changes, broker.ChangeRef{Rev: rev + n, Kind: broker.ChangeMessage, Seq: rev + n})
	}
	return s.store.Append(s.ctx, rev, cursor, batch)
}
