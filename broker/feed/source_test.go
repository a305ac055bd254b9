package feed_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

const user = "user-1"

var errAway = errors.New("the database is away")

// memory is a Source that keeps every change. Each change is a message row.
type memory struct {
	mu     sync.Mutex
	tasks  map[string]*memoryTask
	clock  int64
	pruned int64 // changes up to this rev are deleted
	away   bool
	text   string // of every message
}

type memoryTask struct {
	userID    string
	rev       int64
	changedAt int64
}

func newMemory(taskIDs ...string) *memory {
	m := &memory{tasks: map[string]*memoryTask{}}
	for _, id := range taskIDs {
		m.tasks[id] = &memoryTask{userID: user}
	}
	return m
}

func (m *memory) set(f func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

// change adds a change and returns its rev.
func (m *memory) change(taskID string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	t := m.tasks[taskID]
	t.rev++
	t.changedAt = m.clock
	return t.rev
}

func (m *memory) row(taskID string, rev int64) *protocol.Message {
	return &protocol.Message{ID: fmt.Sprint("m", rev), Rev: rev, TaskID: taskID, Message: m.text}
}

func (m *memory) find(userID, taskID string) (*memoryTask, error) {
	t := m.tasks[taskID]
	switch {
	case m.away:
		return nil, errAway
	case t == nil || t.userID != userID:
		return nil, protocol.Errorf(protocol.CodeNotFound, "Task not found")
	}
	return t, nil
}

func (m *memory) Get(_ context.Context, userID, taskID string) (*protocol.Task, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(userID, taskID)
	if err != nil {
		return nil, err
	}
	return &protocol.Task{ID: taskID, Rev: t.rev}, nil
}

func (m *memory) Changes(
	_ context.Context, userID, taskID string, since int64, limit int,
) ([]broker.Change, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(userID, taskID)
	if err != nil {
		return nil, 0, err
	}
	if since > t.rev || since < m.pruned {
		return nil, 0, broker.ErrReset
	}
	var changes []broker.Change
	for rev := since + 1; rev <= t.rev && len(changes) < limit; rev++ {
		changes = append(changes, broker.Change{Rev: rev, Kind: broker.ChangeMessage, Message: m.row(taskID, rev)})
	}
	return changes, t.rev, nil
}

func (m *memory) Revs(_ context.Context, taskIDs []string) (map[string]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return nil, errAway
	}
	revs := map[string]int64{}
	for _, id := range taskIDs {
		if t := m.tasks[id]; t != nil {
			revs[id] = t.rev
		}
	}
	return revs, nil
}

func (m *memory) Hints(_ context.Context, userID string, limit int) ([]protocol.TaskHint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return nil, errAway
	}
	hints := m.hints(userID)
	return hints[:min(limit, len(hints))], nil
}

func (m *memory) HintsSince(_ context.Context, userIDs []string, _ time.Time) ([]broker.UserHint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return nil, errAway
	}
	var hints []broker.UserHint
	for _, userID := range userIDs {
		for _, hint := range m.hints(userID) {
			hints = append(hints, broker.UserHint{UserID: userID, TaskHint: hint})
		}
	}
	return hints, nil
}

func (m *memory) hints(userID string) []protocol.TaskHint {
	var hints []protocol.TaskHint
	for id, t := range m.tasks {
		if t.userID == userID {
			hints = append(hints, protocol.TaskHint{TaskID: id, Rev: t.rev, AgentStatus: protocol.StatusBusy})
		}
	}
	slices.SortFunc(hints, func(a, b protocol.TaskHint) int {
		return cmp.Or(cmp.Compare(m.tasks[b.TaskID].changedAt, m.tasks[a.TaskID].changedAt), cmp.Compare(a.TaskID, b.TaskID))
	})
	return hints
}
