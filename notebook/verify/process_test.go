package verify

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bellhop/protocol"
)

// patience is a limit that no request of a test reaches, on however slow a machine.
const patience = 10 * time.Minute

func newWorker(t *testing.T, command ...string) *Verifier {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	v := New(Options{Worker: command, Workers: 1, ProcessorLimit: patience, Limit: patience, Log: log})
	t.Cleanup(v.Close)
	return v
}

// An idle process may end at any time. The request that finds it dead gets a fresh one.
func TestADeadWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	v := newWorker(t, os.Args[0], "verify-worker")
	if got := v.Verify(t.Context(), "toml", "a = 1\n"); got.Verdict != protocol.Verified {
		t.Fatalf("%+v", got)
	}
	if err := v.pool.idle[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := v.Verify(t.Context(), "toml", "a = 1\n"); got.Verdict != protocol.Verified {
		t.Errorf("%+v", got)
	}
}

// A process that served other requests may be too large to compile the grammars under its limit, and the one that
// compiled them is too large to check code.
func TestCodeIsCheckedAfterAWorkerDiedLoadingTheGrammars(t *testing.T) {
	t.Parallel()
	v := newWorker(t, os.Args[0], "die-once", filepath.Join(t.TempDir(), "died"))
	if got := v.Verify(t.Context(), "lua", "local a = 1\n"); got.Verdict != protocol.Verified {
		t.Errorf("%+v", got)
	}
}

func TestAWorkerThatDoesNotStartIsNotBlamedOnTheCode(t *testing.T) {
	t.Parallel()
	const reason = "The checker of this server did not start"
	v := newWorker(t, t.TempDir()+"/missing")
	if got := v.Verify(t.Context(), "toml", "a = 1\n"); got.Verdict != protocol.VerifyUnsupported || got.Reason != reason {
		t.Errorf("%+v", got)
	}
	got := v.Verify(t.Context(), "go", "package a\n")
	if got.Verdict != protocol.Verified || got.Claim != protocol.ClaimParses ||
		got.Reason != "The types were not checked. "+reason {
		t.Errorf("%+v", got)
	}
}

func mustTimeOut(t *testing.T, v *Verifier) {
	t.Helper()
	got := v.Verify(t.Context(), "toml", "a = 1\n")
	if got.Verdict != protocol.VerifyUnsupported || got.Reason != "The checker was ended after its time was over" {
		t.Errorf("%+v", got)
	}
}

func TestElapsedTimeCountsWhereProcessorTimeIsUnknown(t *testing.T) {
	t.Parallel()
	v := New(Options{Worker: []string{os.Args[0], "hang"}, ProcessorLimit: time.Millisecond, Limit: patience})
	t.Cleanup(v.Close)
	v.processorTime = func(int) (time.Duration, bool) { return 0, false }
	mustTimeOut(t, v)
}

// Compiled grammars are machine code: a user who can write to their directory can run programs.
func TestADirectoryOthersMayWriteToHoldsNoGrammars(t *testing.T) {
	t.Parallel()
	for mode, kept := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o770: false, 0o777: false} {
		directory := t.TempDir()
		if err := os.Chmod(directory, mode); err != nil {
			t.Fatal(err)
		}
		v := New(Options{Cache: directory})
		if used := v.cache(); (used == directory) != kept || used == "" {
			t.Errorf("mode %v: %s", mode, used)
		}
		v.Close()
		if _, err := os.Stat(directory); err != nil {
			t.Error(err)
		}
	}
}
