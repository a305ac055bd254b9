package heldtime_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"bellhop/internal/heldtime"
)

func TestAFileKeepsTheTime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	file := heldtime.File(filepath.Join(dir, "held"))
	if state, err := file.HeldTime(t.Context()); err != nil || !state.At.IsZero() {
		t.Errorf("without a directory: %+v, %v", state, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "history.db")
	if err := os.WriteFile(data, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(data, epoch, epoch); err != nil {
		t.Fatal(err)
	}
	if state, err := file.HeldTime(t.Context()); err != nil || !state.At.Equal(epoch) {
		t.Errorf("beside files of before: %+v, %v", state, err)
	}
	for _, stored := range []heldtime.State{
		{At: epoch.Add(time.Hour), Ahead: time.Minute, Ran: time.Second}, {At: epoch}, // a time never becomes earlier
	} {
		if err := file.StoreHeldTime(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		want := heldtime.State{At: epoch.Add(time.Hour), Ahead: stored.Ahead, Ran: stored.Ran}
		if got, err := file.HeldTime(t.Context()); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}
