package broker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/disk"
	"bellhop/migrations"
)

// PROC-8 for the broker on SQLite, as bellhop serve opens it: an event that Ingest
// has acknowledged, its message and the cursor survive a power cut at any moment.
// Without syncs they do not, which shows that the test's disk loses writes.
func TestWhatIngestAcknowledgedSurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	for synchronous, want := range map[string]bool{"": false, "OFF": true} {
		t.Run("synchronous "+synchronous, func(t *testing.T) {
			if lost := cutPower(t, synchronous); lost != want {
				t.Errorf("an acknowledged event was lost: %v, want %v", lost, want)
			}
		})
	}
}

func cutPower(t *testing.T, synchronous string) (lost bool) {
	t.Helper()
	power, dir := disk.New(t), t.TempDir()
	db, err := database.Open(t.Context(), "sqlite:"+filepath.Join(dir, "b.db"),
		database.Options{VFS: power.Name(), Synchronous: synchronous})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Migrate(t.Context(), migrations.For(db.Dialect())); err != nil {
		t.Fatal(err)
	}
	k := kitOn(t, store.New(db, storetest.Sealer(t)))
	task := k.task()
	var acknowledged atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var host sync.WaitGroup
	host.Go(func() {
		for seq := int64(1); ctx.Err() == nil; seq++ {
			answer, err := k.ingest.Ingest(k.ctx, task.ID, "", inbound(t, seqd(1, seq, "t1", text(fmt.Sprint("word ", seq)))))
			if err != nil {
				t.Error(err)
				return
			}
			acknowledged.Store(answer.Cursor.Seq)
		}
	})
	defer host.Wait()
	defer cancel()
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // repeatable
	for range testenv.Rounds(t) {
		before, after := acknowledged.Load(), t.TempDir()
		if err := power.Crash(dir, after, random); err != nil {
			t.Fatal(err)
		}
		if survived(t, filepath.Join(after, "b.db"), task.ID) < before {
			return true
		}
	}
	return false
}

// survived is the cursor after a power cut, -1 unless the database is intact and has
// every event and message up to it.
func survived(t *testing.T, path, taskID string) int64 {
	t.Helper()
	db, err := database.Open(t.Context(), "sqlite:"+path, database.Options{})
	if err != nil {
		return -1
	}
	defer func() { _ = db.Close() }()
	var integrity string
	if db.Conn(t.Context()).Raw("PRAGMA integrity_check").Row().Scan(&integrity) != nil || integrity != "ok" {
		return -1
	}
	st := store.New(db, storetest.Sealer(t))
	task, err := st.AnyTask(t.Context(), taskID)
	if err != nil {
		return -1
	}
	var events int64
	if db.Conn(t.Context()).Raw("SELECT count(*) FROM events WHERE task_id = ?", taskID).Row().Scan(&events) != nil {
		return -1
	}
	messages, err := st.Messages(t.Context(), taskID, broker.MessageQuery{Limit: 1 << 30})
	if err != nil || events != task.Cursor.Seq || int64(len(messages)) != task.Cursor.Seq {
		return -1
	}
	return task.Cursor.Seq
}
