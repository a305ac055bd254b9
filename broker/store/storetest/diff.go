package storetest

import (
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

// The last diff of a task is the newest message whose hash begins with broker.DiffHash.
func testLastDiff(t *testing.T, s suite) {
	task := s.task(s.user())
	for i, c := range []struct{ hash, last string }{
		{"", ""},
		{"hash", ""},
		{"DIFF:a", ""},
		{"diff", ""},
		{"diff:a", "diff:a"},
		{"hash", "diff:a"},
		{"diff:b", "diff:b"},
		{"diff%", "diff:b"},
	} {
		seq := int64(i + 1)
		s.must(s.apply(task.ID, func(b *broker.Batch) {
			b.Task.LastSeq, b.Task.Rev = seq, seq
			b.NewMessages = []broker.Message{{BodyHash: c.hash, Message: protocol.Message{
				ID: protocol.NewID(), TaskID: task.ID, Seq: seq, Rev: seq, Role: protocol.RoleAssistant,
				Status: protocol.MessageSent, CreatedAt: now,
			}}}
		}))
		got, err := s.store.LastDiff(s.ctx, task.ID)
		switch {
		case c.last == "":
			s.code(err, protocol.CodeNotFound)
		case err != nil || got.BodyHash != c.last:
			t.Errorf("after %q: %+v, %v; want %q", c.hash, got, err, c.last)
		}
	}
}
