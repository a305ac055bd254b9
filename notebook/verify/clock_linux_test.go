package verify

import (
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bellhop/protocol"
)

// A machine may be so busy that a worker gets no processor for longer than the limit.
func TestAStarvedWorkerIsNotKilled(t *testing.T) {
	t.Parallel()
	v := New(Options{
		Worker: []string{os.Args[0], "verify-worker"}, Workers: 1, ProcessorLimit: time.Millisecond, Limit: patience,
	})
	t.Cleanup(v.Close)
	worker, err := v.pool.take()
	if err != nil {
		t.Fatal(err)
	}
	pid := worker.cmd.Process.Pid
	v.pool.put(worker)
	var status syscall.WaitStatus
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatal(status, err)
	}
	// The worker continues after the limit has passed several times. From then on this shows it no more time, because
	// the check itself may need more than the limit.
	const looks = 5
	var looked atomic.Int32
	var used time.Duration
	v.processorTime = func(pid int) (time.Duration, bool) {
		switch n := looked.Add(1); {
		case n < looks:
			var known bool
			if used, known = processorTime(pid); !known {
				return 0, false
			}
		case n == looks:
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		return used, true
	}
	got := v.Verify(t.Context(), "toml", "a = 1\n")
	if got.Verdict != protocol.Verified || looked.Load() < looks {
		t.Errorf("after %d looks: %+v", looked.Load(), got)
	}
}

func TestAWorkerThatComputesForEverIsKilledAtItsProcessorLimit(t *testing.T) {
	t.Parallel()
	v := New(Options{Worker: []string{os.Args[0], "spin"}, ProcessorLimit: 50 * time.Millisecond, Limit: patience})
	t.Cleanup(v.Close)
	mustTimeOut(t, v)
}
