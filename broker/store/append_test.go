package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// One of many concurrent hosts uses an event id twice. The requests that share a
// statement with it must still be stored.
func TestConcurrentAppendsAreIndependent(t *testing.T) {
	t.Parallel()
	const tasks, rounds = 24, 12
	s := storetest.OpenPostgres(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	user := &broker.User{ID: protocol.NewID(), Email: "a@example.org", CreatedAt: now}
	if err := s.CreateUser(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ids := make([]string, tasks)
	for i := range tasks {
		task := &broker.Task{
			ID: protocol.NewID(), UserID: user.ID, Mode: protocol.ModeAgent, AgentStatus: protocol.StatusNone,
			WebhookSecret: seal.NewSecret("secret"), CreatedAt: now, LastActivityAt: now, ChangedAt: now,
		}
		if err := s.CreateTask(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		ids[i] = task.ID
		wg.Go(func() {
			for round := range rounds {
				before := *task
				again := i == 0 && round > 0
				event := broker.StoredEvent{
					TaskID: task.ID, EventID: fmt.Sprint(round), Epoch: 1, Seq: task.Cursor.Seq + 1,
					ReceivedAt: now, Body: []byte(`{"type":"text","id":"t","timestamp":1,"text":"?"}`),
				}
				event.Type = protocol.EventText
				if again {
					event.EventID = "0"
				}
				task.Rev, task.LastSeq, task.Cursor = task.Rev+1, task.LastSeq+1, protocol.Cursor{Epoch: 1, Seq: event.Seq}
				message := protocol.Message{
					ID: protocol.NewID(), TaskID: task.ID, Seq: task.LastSeq, Rev: task.Rev, Message: "?",
					CreatedAt: now, EventID: event.EventID,
				}
				done, err := s.Append(t.Context(), before.Rev, before.Cursor, &broker.Batch{
					Task: task, Events: []broker.StoredEvent{event}, NewMessages: []broker.Message{{Message: message}},
					Changes: []broker.ChangeRef{{Rev: task.Rev, Kind: broker.ChangeMessage, Seq: message.Seq}},
				})
				switch {
				case again && (done || !errors.Is(err, broker.ErrTaken)):
					t.Errorf("an id again: %t, %v", done, err)
				case !again && (!done || err != nil):
					t.Errorf("task %d, round %d: %t, %v", i, round, done, err)
				}
				if again {
					*task = before
				}
			}
		})
	}
	wg.Wait()
	for i, id := range ids {
		want := int64(rounds)
		if i == 0 {
			want = 1
		}
		task, err := s.AnyTask(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Messages(t.Context(), id, broker.MessageQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		refs, err := s.ChangeRefs(t.Context(), id, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		if task.Rev != want || task.Cursor.Seq != want || int64(len(list)) != want || int64(len(refs)) != want {
			t.Errorf("task %d: rev %d, seq %d, %d messages, %d changes; want %d", i, task.Rev, task.Cursor.Seq,
				len(list), len(refs), want)
		}
	}
}
