package journal

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"bellhop/agenthost"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/disk"
	"bellhop/protocol"
)

// Reliability PROC-8: data for which Write has returned survives a power cut at any
// moment.
func TestWritesSurviveAPowerCut(t *testing.T) {
	t.Parallel()
	if cutPower(t, "FULL") {
		t.Error("a power cut lost an acknowledged event")
	}
}

// Without syncs events must be lost; otherwise the test's disk would prove nothing.
func TestAJournalWithoutSyncsLosesEventsInAPowerCut(t *testing.T) {
	t.Parallel()
	if !cutPower(t, "OFF") {
		t.Error("nothing was lost without syncs")
	}
}

// cutPower writes events one after another, and cuts the power from another
// goroutine at a random moment. It reports whether a cut lost an acknowledged event
// or damaged the database.
func cutPower(t *testing.T, synchronous string) (lost bool) {
	t.Helper()
	power := disk.New(t)
	dir := t.TempDir()
	j, err := openOn(power.Name(), dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	err = j.exec(t.Context(), func(c *sqlite3.Conn) error { // a small WAL, so that the cuts also hit checkpoints
		return c.Exec("PRAGMA wal_autocheckpoint = 20")
	})
	if err == nil && synchronous != "FULL" {
		err = outsideTransaction(j, "PRAGMA synchronous = "+synchronous)
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, j, &agenthost.Write{SessionID: "s", Session: session("s", 0)})

	var acknowledged atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for seq := int64(1); ctx.Err() == nil; seq++ {
			write(t, j, &agenthost.Write{
				SessionID: "s", Session: session("s", seq), Events: []agenthost.EventRecord{event("s", seq)},
			})
			acknowledged.Store(seq)
		}
	})
	defer writer.Wait()
	defer cancel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	cuts := testenv.Rounds(t)
	for range cuts {
		before := acknowledged.Load()
		if survived(t, power, dir, random) < before {
			return true
		}
	}
	if events := acknowledged.Load(); events < int64(cuts) {
		t.Errorf("only %d events were written", events)
	}
	return false
}

// survived cuts the power and returns the highest event without a gap.
func survived(t *testing.T, power *disk.Disk, dir string, random *rand.Rand) int64 {
	t.Helper()
	after := t.TempDir()
	if err := power.Crash(dir, after, random); err != nil {
		t.Fatal(err)
	}
	j, err := Open(after, noon)
	if err != nil {
		return -1
	}
	defer func() { _ = j.Close() }()
	if len(j.Notices()) > 0 {
		return -1
	}
	events, err := j.Events(t.Context(), "s", 1, 0, 1<<30)
	if err != nil {
		return -1
	}
	for i, e := range events {
		if e.Cursor.Seq != int64(i+1) {
			return int64(i)
		}
	}
	if err := os.RemoveAll(filepath.Clean(after)); err != nil {
		t.Fatal(err)
	}
	return int64(len(events))
}

// A full disk is storage_full and loses no acknowledged data. When there is space
// again, writes work without a restart.
func TestADiskThatFillsUpIsStorageFull(t *testing.T) {
	t.Parallel()
	filling := disk.New(t)
	dir := t.TempDir()
	j, err := openOn(filling.Name(), dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	write(t, j, &agenthost.Write{SessionID: "s", Session: session("s", 1), Events: []agenthost.EventRecord{event("s", 1)}})
	filling.Fill(true)
	big := event("s", 2)
	big.Part = make([]byte, 1<<20)
	if err := j.Write(t.Context(), &agenthost.Write{
		SessionID: "s", Events: []agenthost.EventRecord{big},
	}); protocol.CodeOf(err) != protocol.CodeStorageFull {
		t.Errorf("a write: %v", err)
	}
	if n, err := j.CountPending(t.Context(), "s", protocol.Cursor{}); n != 1 || err != nil {
		t.Errorf("reads: %d events, %v", n, err)
	}
	filling.Fill(false)
	write(t, j, &agenthost.Write{SessionID: "s", Events: []agenthost.EventRecord{big}})
	if err := j.Probe(t.Context()); err != nil {
		t.Errorf("probe: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// outsideTransaction runs a statement in the writer without a transaction.
func outsideTransaction(j *Journal, statement string) error {
	return j.exec(context.Background(), func(c *sqlite3.Conn) error {
		return c.Exec("COMMIT; " + statement + "; BEGIN IMMEDIATE; SAVEPOINT request")
	})
}
