package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func queuedMessage(task, id string, position int64) *broker.QueuedMessage {
	return &broker.QueuedMessage{
		TaskID: task, ID: id, Position: position, Message: "text of " + id, State: "waiting", Hash: "h", Bytes: 9,
		Artifacts: []protocol.ArtifactInput{{Type: "FILE", Content: []byte(`{"a":1}`)}},
		Files:     []protocol.QueuedAttachment{{Type: "image", MediaType: "image/png", Bytes: 3}},
		DueAt:     now, CreatedAt: now,
	}
}

func testQueue(t *testing.T, s suite) {
	user := s.user()
	task, other := s.task(user).ID, s.task(user).ID
	first, second := queuedMessage(task, "first", 3), queuedMessage(task, "second", 1)
	image := []protocol.Attachment{{Type: "image", MediaType: "image/png", Data: strings.Repeat("AAAA", 1000)}}
	s.must(s.store.AddQueued(s.ctx, first, image))
	s.must(s.store.AddQueued(s.ctx, second, nil))
	s.must(s.store.AddQueued(s.ctx, queuedMessage(other, "first", 0), nil))
	s.code(s.store.AddQueued(s.ctx, first, nil), protocol.CodeConflict)
	s.wantQueued(task, *second, *first)
	if got, err := s.store.QueuedAttachments(s.ctx, task, "first"); err != nil || !reflect.DeepEqual(got, image) {
		t.Errorf("%d attachments, %v", len(got), err)
	}
	if got, err := s.store.QueuedAttachments(s.ctx, task, "none"); err != nil || len(got) != 0 {
		t.Errorf("%d attachments of no message, %v", len(got), err)
	}

	changed := *first
	changed.Position, changed.Message, changed.State, changed.Bytes = 0, "changed", "sent", 7
	changed.Turn, changed.TurnID, changed.Place, changed.Attempts = 1, "t", "h", 2
	changed.Failure, changed.DueAt = "no host", now.Add(time.Minute)
	s.must(s.store.SaveQueued(s.ctx, &changed))
	s.wantQueued(task, changed, *second)
	if got, err := s.store.QueuedAttachments(s.ctx, task, "first"); err != nil || len(got) != 1 {
		t.Errorf("%d attachments after a change, %v", len(got), err)
	}
	s.must(s.store.RemoveQueued(s.ctx, task, "first"))
	s.must(s.store.RemoveQueued(s.ctx, task, "first"))
	s.wantQueued(task, *second)
	s.must(s.store.ClearQueue(s.ctx, task))
	s.wantQueued(task)
	s.wantQueued(other, *queuedMessage(other, "first", 0))

	s.must(s.apply(other, func(b *broker.Batch) {
		b.Task.Queue = broker.TaskQueue{
			Now: "first", TaskQueue: protocol.TaskQueue{Messages: 1, Rev: 7, Paused: "failed", Reason: "r"},
		}
		b.Task.DeletedAt = &now
	}))
	if got, err := s.store.AnyTask(s.ctx, other); err != nil || got.Queue.Now != "first" || got.Queue.Rev != 7 ||
		got.Queue.Paused != protocol.PauseFailed || got.Queue.Reason != "r" || got.Queue.Messages != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := s.store.PurgeTasks(s.ctx, now.Add(time.Hour))
	s.must(err)
	s.wantQueued(other)
}

func (s suite) wantQueued(task string, want ...broker.QueuedMessage) {
	s.Helper()
	got, err := s.store.Queued(s.ctx, task)
	s.must(err)
	if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		s.Errorf("queued %+v\nwant %+v", got, want)
	}
}

func testDueQueues(t *testing.T, s suite) {
	user := s.user()
	due := map[string]bool{}
	for name, c := range map[string]struct {
		want bool
		fill func(m *broker.QueuedMessage, b *broker.Batch)
	}{
		"waiting":    {true, func(*broker.QueuedMessage, *broker.Batch) {}},
		"later":      {false, func(m *broker.QueuedMessage, _ *broker.Batch) { m.DueAt = now.Add(time.Second) }},
		"paused":     {false, func(_ *broker.QueuedMessage, b *broker.Batch) { b.Task.Queue.Paused = protocol.PauseStopped }},
		"archived":   {false, func(_ *broker.QueuedMessage, b *broker.Batch) { b.Task.Archived = true }},
		"deleted":    {false, func(_ *broker.QueuedMessage, b *broker.Batch) { b.Task.DeletedAt = &now }},
		"busy":       {false, func(_ *broker.QueuedMessage, b *broker.Batch) { b.Turns = turnIn(b, "x", broker.TurnOpen) }},
		"idle again": {true, func(_ *broker.QueuedMessage, b *broker.Batch) { b.Turns = turnIn(b, "x", broker.TurnClosed) }},
		"its own turn": {true, func(m *broker.QueuedMessage, b *broker.Batch) {
			m.TurnID, b.Turns = "x", turnIn(b, "x", broker.TurnAnnounced)
		}},
		"sent, paused": {true, func(m *broker.QueuedMessage, b *broker.Batch) {
			m.State, b.Task.Queue.Paused = "sent", protocol.PauseStopped
		}},
	} {
		task := s.task(user).ID
		m := queuedMessage(task, name, 0)
		s.must(s.apply(task, func(b *broker.Batch) { c.fill(m, b) }))
		s.must(s.store.AddQueued(s.ctx, m, nil))
		s.must(s.store.AddQueued(s.ctx, queuedMessage(task, "behind", 1), nil))
		due[task] = c.want
	}
	found, err := s.store.DueQueues(s.ctx, now, []string{"https://other.example"}, 100)
	s.must(err)
	for _, d := range found {
		if wanted, known := due[d.ID]; !wanted || !known {
			t.Errorf("%+v is due", d)
		}
		delete(due, d.ID)
	}
	for task, wanted := range due {
		if wanted {
			messages, _ := s.store.Queued(s.ctx, task)
			t.Errorf("%q is not due", messages[0].ID)
		}
	}
	if some, err := s.store.DueQueues(s.ctx, now, nil, 2); err != nil || len(some) != 2 {
		t.Errorf("%d due queues within a limit of 2, %v", len(some), err)
	}
	if others, err := s.store.DueQueues(s.ctx, now, []string{found[0].Host}, 100); err != nil || len(others) != 0 {
		t.Errorf("due on another host than %s: %+v, %v", found[0].Host, others, err)
	}
}

func turnIn(b *broker.Batch, id string, state broker.TurnState) []broker.Turn {
	return []broker.Turn{{ID: id, TaskID: b.Task.ID, State: state, AnnouncedAt: now}}
}
