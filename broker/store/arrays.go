package store

import (
	"time"

	"bellhop/broker"
)

// Rows by their columns, as unnest takes them.

type taskArrays struct {
	id                                                 []string
	wasRev, wasEpoch, wasSeq, epoch, seq, rev, lastSeq []int64
	activity, changed                                  []time.Time
	event                                              []*time.Time
}

func (t *taskArrays) add(a *appendage) {
	task := a.batch.Task
	t.id = append(t.id, task.ID)
	t.wasRev, t.wasEpoch, t.wasSeq = append(t.wasRev, a.rev), append(t.wasEpoch, a.cursor.Epoch), append(t.wasSeq, a.cursor.Seq)
	t.epoch, t.seq = append(t.epoch, task.Cursor.Epoch), append(t.seq, task.Cursor.Seq)
	t.rev, t.lastSeq = append(t.rev, task.Rev), append(t.lastSeq, task.LastSeq)
	t.activity, t.event = append(t.activity, task.LastActivityAt.UTC()), append(t.event, utc(task.LastEventAt))
	t.changed = append(t.changed, task.ChangedAt.UTC())
}

func (t *taskArrays) args() []any {
	return []any{t.id, t.wasRev, t.wasEpoch, t.wasSeq, t.epoch, t.seq, t.rev, t.lastSeq, t.activity, t.event, t.changed}
}

type eventArrays struct {
	task, id, turn, kind, body, digest []string
	epoch, seq                         []*int64
	late                               []bool
	received                           []time.Time
}

func (a *eventArrays) add(e *broker.StoredEvent) {
	var epoch, seq *int64
	if e.Epoch > 0 {
		epoch, seq = &e.Epoch, &e.Seq
	}
	a.task, a.id, a.epoch, a.seq = append(a.task, e.TaskID), append(a.id, e.EventID), append(a.epoch, epoch), append(a.seq, seq)
	a.turn, a.kind, a.body = append(a.turn, e.TurnID), append(a.kind, string(e.Type)), append(a.body, string(e.Body))
	a.digest, a.late, a.received = append(a.digest, e.Digest), append(a.late, e.Late), append(a.received, e.ReceivedAt.UTC())
}

func (a *eventArrays) args() []any {
	return []any{a.task, a.id, a.epoch, a.seq, a.turn, a.kind, a.body, a.digest, a.late, a.received}
}

type messageArrays struct {
	task, id, turn, role, status, text, artifacts, event, phase, hash []string
	seq, rev                                                          []int64
	call                                                              []*string
	created                                                           []time.Time
}

func (a *messageArrays) add(m *broker.Message) error {
	artifacts, err := artifactsJSON(m)
	if err != nil {
		return err
	}
	a.task, a.id, a.seq, a.rev = append(a.task, m.TaskID), append(a.id, m.ID), append(a.seq, m.Seq), append(a.rev, m.Rev)
	a.turn, a.role = append(a.turn, m.TurnID), append(a.role, string(m.Role))
	a.status, a.text = append(a.status, string(m.Status)), append(a.text, m.Message.Message)
	a.artifacts, a.event = append(a.artifacts, artifacts), append(a.event, m.EventID)
	a.call, a.phase = append(a.call, orNull(m.ToolCallID)), append(a.phase, string(m.Phase))
	a.hash, a.created = append(a.hash, m.BodyHash), append(a.created, m.CreatedAt.UTC())
	return nil
}

func (a *messageArrays) args() []any {
	return []any{
		a.task, a.id, a.seq, a.rev, a.turn, a.role, a.status, a.text, a.artifacts, a.event, a.call, a.phase, a.hash, a.created,
	}
}

type changeArrays struct {
	task, kind, ref []string
	rev             []int64
}

func (a *changeArrays) add(taskID string, c broker.ChangeRef) {
	a.task, a.rev = append(a.task, taskID), append(a.rev, c.Rev)
	a.kind, a.ref = append(a.kind, string(c.Kind)), append(a.ref, c.RefID)
}

func (a *changeArrays) args() []any { return []any{a.task, a.rev, a.kind, a.ref} }
