package broker

import (
	"context"
	"io"
	"time"

	"bellhop/protocol"
)

// A basic host does not say that its turn has ended, and its next event may take minutes. Once it has been silent for
// quietAfter behind a complete text, its task is quiet: idle for people, as an agent that waits for them. The turn stays
// open, so that everything that waits for its end goes on waiting, and whatever the host sends makes the task busy again.

const (
	quietAfter = time.Minute
	quietEvery = 2 * time.Second
	signEvery  = 20 * time.Second // how often the bytes of a stream count as a sign of life
	signLimit  = time.Second      // for storing it, because the stream waits
)

// isQuiet reports whether a basic host is silent behind its answer, or says that its agent waits without a question.
func (t *Task) isQuiet() bool {
	return !t.HostEvents && t.OpenTurn != "" && t.OpenQuestions == 0 &&
		t.AgentStatus == protocol.StatusIdle && t.Reason == protocol.ReasonWaiting
}

// MarkQuiet makes the tasks quiet that have become so.
func (m *Maintenance) MarkQuiet(ctx context.Context) {
	since := nowUTC(m.Now).Add(-quietAfter)
	for after := ""; ; {
		silent, last, err := m.Store.SilentTasks(ctx, since, after, duePage)
		m.report(ctx, "find silent tasks", err)
		for _, id := range silent {
			_, err := m.Updater.updateAnyTask(ctx, id, func(ctx context.Context, tx *taskTx) error {
				return tx.markQuiet(ctx, since)
			})
			m.report(ctx, "mark a quiet task", err)
		}
		if last == "" {
			return
		}
		after = last
	}
}

// markQuiet makes the task quiet if its last event is a text of the open turn, and no tool of it runs.
func (tx *taskTx) markQuiet(ctx context.Context, since time.Time) error {
	t := tx.task
	if t.HostEvents || t.OpenTurn == "" || t.OpenQuestions > 0 || t.AgentStatus != protocol.StatusBusy ||
		t.LastEventAt == nil || t.LastEventAt.After(since) {
		return nil
	}
	answer, err := tx.store.LastAnswer(ctx, t.ID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return nil
	case err != nil:
		return err
	case answer.TurnID != t.OpenTurn, answer.ToolCallID != "", answer.CreatedAt.Before(*t.LastEventAt):
		return nil // the last event is another one
	}
	running, err := tx.store.RunningTools(ctx, t.ID, t.OpenTurn)
	if err != nil || len(running) > 0 {
		return err
	}
	t.AgentStatus, t.Reason = protocol.StatusIdle, protocol.ReasonWaiting
	tx.touch()
	return nil
}

// wake makes a quiet task busy again.
func (tx *taskTx) wake() {
	if tx.task.isQuiet() {
		tx.task.AgentStatus, tx.task.Reason = protocol.StatusBusy, ""
		tx.touch()
	}
}

// Reader returns a writer for the bytes of the stream, which finds its end and stores signs of life while ctx lasts.
// It never fails. Only one goroutine may write.
func (t *RelayedTurn) Reader(ctx context.Context) io.Writer { return &relayedBytes{ctx, t} }

type relayedBytes struct {
	ctx  context.Context //nolint:containedctx // io.Writer has none
	turn *RelayedTurn
}

func (b *relayedBytes) Write(p []byte) (int, error) {
	b.turn.stream.read(p)
	now := nowUTC(b.turn.sessions.Updater.Now)
	switch since := now.Sub(b.turn.signedAt); {
	case b.turn.signedAt.IsZero():
		b.turn.signedAt = now
	case since >= signEvery:
		b.turn.signedAt = now
		b.turn.sign(b.ctx)
	}
	return len(p), nil
}

// sign counts the bytes of the stream as an event: the host is not silent. A sign that cannot be stored is not missed
// for long.
func (t *RelayedTurn) sign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, signLimit)
	defer cancel()
	_, err := t.sessions.Updater.updateTask(ctx, t.task.UserID, t.task.ID, func(_ context.Context, tx *taskTx) error {
		if tx.task.OpenTurn == t.turnID {
			at := tx.now
			tx.task.LastEventAt, tx.dirty = &at, true
			tx.wake()
		}
		return nil
	})
	if err != nil {
		t.sessions.Log.DebugContext(ctx, "a sign of life is not stored", "task", t.task.ID, "error", err)
	}
}
