package diskspace_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/diskspace"
	"bellhop/internal/testenv/disk"
)

func TestTheWarningBeginsBelowItsThreshold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	space, err := diskspace.Monitor{Path: dir}.Space()
	if err != nil || space.FreeBytes <= 0 || space.TotalBytes < space.FreeBytes {
		t.Fatalf("%+v, %v", space, err)
	}
	for name, c := range map[string]struct {
		monitor diskspace.Monitor
		low     bool
	}{
		"no threshold":             {diskspace.Monitor{Path: dir}, false},
		"enough room":              {diskspace.Monitor{Path: dir, WarnBelow: 1}, false},
		"too little room":          {diskspace.Monitor{Path: dir, WarnBelow: 1 << 62}, true},
		"no path":                  {diskspace.Monitor{WarnBelow: 1 << 62}, false},
		"a path that is not there": {diskspace.Monitor{Path: filepath.Join(dir, "none"), WarnBelow: 1 << 62}, false},
	} {
		if got := c.monitor.Low(); got != c.low {
			t.Errorf("%s: low is %v", name, got)
		}
		if notice := c.monitor.Notice(); (notice != "") != c.low || strings.Contains(notice, dir) {
			t.Errorf("%s: notice %q", name, notice)
		}
	}
}

func TestSizesAreReadInUnitsOf1024(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": diskspace.DefaultWarnBelow, "0": 0, "512MiB": 512 << 20, "2g": 2 << 30, "1048576": 1 << 20,
	} {
		if got, err := diskspace.ParseSize(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"much", "-1", "-5MiB", "5 %"} {
		if got, err := diskspace.ParseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// The reserve is room that nothing else can take, and it is given back when a start
// finds the disk full.
func TestAReserveIsReleasedOnAFullDisk(t *testing.T) {
	t.Parallel()
	if !disk.CanMount(t) {
		return
	}
	small := disk.NewSmall(t, 3*diskspace.ReserveSize)
	guard := &diskspace.Guard{
		Monitor: diskspace.Monitor{Path: small.Dir}, Reserve: filepath.Join(small.Dir, "reserve"),
		Log: slog.New(slog.DiscardHandler),
	}
	held := func() int64 {
		info, err := os.Stat(guard.Reserve)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	write := func(name string, size int) error {
		return os.WriteFile(filepath.Join(small.Dir, name), make([]byte, size), 0o600)
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(guard.Release())
	do(guard.Hold())
	do(guard.Release())
	if held() != diskspace.ReserveSize {
		t.Errorf("with room, the reserve has %d bytes", held())
	}
	small.Fill()
	if err := write("early", 1<<20); err == nil {
		t.Error("the reserve's room was not reserved")
	}
	do(guard.Release())
	do(write("start", 1<<20))
	do(guard.Hold())
	if got := held(); got <= 0 || got > diskspace.ReserveSize-1<<20 {
		t.Errorf("after the start, the reserve has %d bytes", got)
	}
	small.Free()
	do(guard.Hold())
	if held() != diskspace.ReserveSize {
		t.Errorf("with room again, the reserve has %d bytes", held())
	}
}
