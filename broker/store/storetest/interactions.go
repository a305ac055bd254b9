package storetest

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// question adds a question to a task, or changes the one with the number.
func (s suite) question(taskID string, number int, state protocol.InteractionState) {
	s.Helper()
	s.must(s.apply(taskID, func(b *broker.Batch) {
		id := "q-" + strconv.Itoa(number)
		b.Interactions = []broker.Interaction{{
			TaskID: taskID, ID: id, TurnID: "t", State: state, CreatedAt: now.Add(time.Duration(number/2) * time.Minute),
		}}
	}))
}

// A list of questions has the newest of one state, or of all states, and only the user's.
func testInteractions(t *testing.T, s suite) {
	ada, bob := s.user(), s.user()
	first, second, deleted, theirs := s.task(ada), s.task(ada), s.task(ada), s.task(bob)
	for number, q := range []struct {
		task  *broker.Task
		state protocol.InteractionState
	}{
		{first, "open"},
		{second, "resolved"},
		{first, "expired"},
		{second, "open"},
		{theirs, "open"},
		{deleted, "open"},
		{first, "resolved"},
		{first, "resolved"},
		{second, "resolved"},
		{theirs, "resolved"},
	} {
		s.question(q.task.ID, number, q.state)
	}
	s.question(first.ID, 0, "resolved") // it was open
	s.must(s.apply(deleted.ID, func(b *broker.Batch) { b.Task.DeletedAt = &now }))
	for _, c := range []struct {
		state string
		limit int
		want  []string
	}{
		{"open", 10, []string{"q-3"}},
		{"resolved", 10, []string{"q-8", "q-7", "q-6", "q-1", "q-0"}},
		{"resolved", 3, []string{"q-8", "q-7", "q-6"}},
		{"expired", 10, []string{"q-2"}},
		{"", 10, []string{"q-8", "q-7", "q-6", "q-3", "q-2", "q-1", "q-0"}},
		{"", 4, []string{"q-8", "q-7", "q-6", "q-3"}},
	} {
		list, err := s.store.Interactions(s.ctx, ada, c.state, c.limit)
		s.must(err)
		var ids []string
		for i := range list {
			ids = append(ids, list[i].ID)
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("%d of state %q: %q, want %q", c.limit, c.state, ids, c.want)
		}
	}
}
