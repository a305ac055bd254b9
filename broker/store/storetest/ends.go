package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

func testEnds(t *testing.T, s suite) {
	user := s.user()
	h := &broker.Host{
		ID: protocol.NewID(), Name: "h", URL: "https://h.example", Health: broker.HostUnknown, CreatedAt: now,
	}
	s.must(s.store.CreateHost(s.ctx, h))
	var ids []string
	for i := range 3 {
		task := s.task(user)
		ids = append(ids, task.ID)
		s.must(s.apply(task.ID, func(b *broker.Batch) {
			b.Task.DeletedAt = &now
			if i < 2 {
				b.Task.HostID = h.ID
			} else {
				b.Task.AgentURL = "https://own.example"
			}
		}))
		due := now.Add(time.Duration(i) * time.Second)
		s.must(s.store.AddOwedEnd(s.ctx, &broker.SessionEnd{
			TaskID: task.ID, Since: now, DueAt: due, Attempts: 1, Confirmed: "list",
		}))
	}
	s.dueEnds(1, ids[0], ids[1])
	s.dueEnds(2, ids...)
	s.must(s.store.FailEnd(s.ctx, ids[2], "not\x00 reachable "+strings.Repeat("é", 600)))
	s.must(
		s.store.AddOwedEnd(s.ctx, &broker.SessionEnd{TaskID: ids[2], Since: now.Add(time.Hour), DueAt: now, Attempts: 9}),
	)
	due, err := s.store.DueEnds(s.ctx, now, 10)
	s.must(err)
	want := broker.SessionEnd{
		TaskID: ids[2], AgentURL: "https://own.example", Since: now, DueAt: now, Attempts: 1,
		Failure: "not\uFFFD reachable " + strings.Repeat("é", 485), Confirmed: "list",
	}
	if len(due) != 2 || !reflect.DeepEqual(due[1], want) && !reflect.DeepEqual(due[0], want) {
		t.Errorf("%+v\nwant %+v", due, want)
	}
	s.must(s.store.DelayEnds(s.ctx, h.ID, now.Add(time.Minute)))
	s.dueEnds(59, ids[2])
	s.must(s.store.HastenEnds(s.ctx, h.ID, now))
	s.dueEnds(0, ids...)
	s.must(s.store.SettleEnd(s.ctx, ids[0]))
	if task, err := s.store.AnyTask(s.ctx, ids[0]); err != nil || task.HostID != "" {
		t.Errorf("%+v, %v", task, err)
	}
	s.dueEnds(0, ids[1], ids[2])
	_, err = s.store.DeleteHost(s.ctx, h.ID, false)
	s.code(err, protocol.CodeConflict)
	if n, err := s.store.PurgeTasks(s.ctx, now.Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("%d tasks purged that owe no end, %v", n, err)
	}
	if n, err := s.store.DeleteHost(s.ctx, h.ID, true); err != nil || n != 1 {
		t.Errorf("%d ends removed, %v", n, err)
	}
	s.dueEnds(0, ids[2])
}

// dueEnds compares the ends that are due some seconds after now, in any order.
func (s suite) dueEnds(seconds int, want ...string) {
	s.Helper()
	due, err := s.store.DueEnds(s.ctx, now.Add(time.Duration(seconds)*time.Second), 10)
	s.must(err)
	got := map[string]bool{}
	for i := range due {
		got[due[i].TaskID] = true
	}
	for _, id := range want {
		if !got[id] {
			s.Errorf("after %d s %s is not due", seconds, id)
		}
	}
	if len(due) != len(want) {
		s.Errorf("after %d s %d ends are due, want %d", seconds, len(due), len(want))
	}
}
