package workspace

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/process"
	"bellhop/protocol"
)

// What a process tells may take long in all, as a large pack on a slow disk does. Only silence ends it.
func TestAProcessMayTakeLongButNotBeSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, told := io.Pipe()
		given := false
		p := &patience{io.Discard, from, lookTime, func() { given = true; _ = told.CloseWithError(context.DeadlineExceeded) }}
		go func() {
			for range 100 {
				time.Sleep(lookTime - time.Second)
				_, _ = told.Write([]byte("a"))
			}
		}()
		if n, err := io.ReadFull(p, make([]byte, 100)); n != 100 || given {
			t.Errorf("%d answers, %v", n, err)
		}
		if _, err := p.Read(make([]byte, 1)); !given {
			t.Errorf("a silent process: %v", err)
		}
	})
}

func TestASilentProcessIsEnded(t *testing.T) {
	t.Parallel()
	silent, err := startTree(t.Context(), time.Millisecond, process.Command{Args: []string{"sleep", "1000"}, Dir: t.TempDir()},
		&treereader.TreeRequest{Root: t.TempDir()})
	must(t, err)
	defer silent.close()
	_, _, err = silent.List("", 1)
	if err = silent.explain(err); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("a silent process: %v", err)
	}
}
