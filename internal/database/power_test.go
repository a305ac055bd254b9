package database_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/disk"
	"bellhop/protocol"
)

// A transaction that Write committed on SQLite survives a power cut at any moment.
// With synchronous OFF it does not, which shows that the test's disk loses writes.
func TestACommitOnSQLiteSurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	for synchronous, want := range map[string]bool{"FULL": false, "OFF": true} {
		t.Run(synchronous, func(t *testing.T) {
			if lost := cutPower(t, synchronous); lost != want {
				t.Errorf("a committed row was lost: %v, want %v", lost, want)
			}
		})
	}
}

// cutPower commits rows 1, 2, 3 … and cuts the power at a random moment. It reports
// whether a cut lost a committed row.
func cutPower(t *testing.T, synchronous string) (lost bool) {
	t.Helper()
	power, dir := disk.New(t), t.TempDir()
	db := withNotes(t,
		open(t, "sqlite:"+filepath.Join(dir, "b.db"), database.Options{VFS: power.Name(), Synchronous: synchronous}))
	var committed atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := int64(1); ctx.Err() == nil; n++ {
			err := db.Write(t.Context(), func(ctx context.Context) error { return insert(ctx, db, fmt.Sprint(n)) })
			if err != nil {
				t.Error(err)
				return
			}
			committed.Store(n)
		}
	})
	defer writer.Wait()
	defer cancel()
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // repeatable
	for range testenv.Rounds(t) {
		before, after := committed.Load(), t.TempDir()
		if err := power.Crash(dir, after, random); err != nil {
			t.Fatal(err)
		}
		if rows(t, filepath.Join(after, "b.db")) < before {
			return true
		}
	}
	return false
}

// rows returns the number of rows after a power cut, or -1 when they are
// incomplete.
func rows(t *testing.T, path string) int64 {
	t.Helper()
	db, err := database.Open(t.Context(), "sqlite:"+path, database.Options{})
	if err != nil {
		return -1
	}
	defer func() { _ = db.Close() }()
	var complete string
	var n int64
	if db.Conn(t.Context()).Raw("PRAGMA integrity_check").Row().Scan(&complete) != nil || complete != "ok" {
		return -1
	}
	if db.Conn(t.Context()).Raw("SELECT count(*) FROM notes").Row().Scan(&n) != nil {
		return -1
	}
	return n
}

// A full disk is storage_full on SQLite. Reads still work, and writes work again
// when there is space.
func TestAFullDiskIsStorageFull(t *testing.T) {
	t.Parallel()
	filling, path := disk.New(t), filepath.Join(t.TempDir(), "b.db")
	db := withNotes(t, open(t, "sqlite:"+path, database.Options{VFS: filling.Name()}))
	add := func(id string) error {
		return db.Write(t.Context(), func(ctx context.Context) error { return insert(ctx, db, id) })
	}
	if err := add("before"); err != nil {
		t.Fatal(err)
	}
	filling.Fill(true)
	var err error
	for i := 0; err == nil && i < 10_000; i++ { // the log may have space left from before
		err = add(fmt.Sprint("full ", i))
	}
	if protocol.CodeOf(err) != protocol.CodeStorageFull {
		t.Errorf("a write: %v", err)
	}
	var n int
	if err := db.Conn(t.Context()).Raw("SELECT count(*) FROM notes WHERE id = 'before'").Row().Scan(&n); err != nil ||
		n != 1 {
		t.Errorf("a read: %d, %v", n, err)
	}
	filling.Fill(false)
	if err := add("after"); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
