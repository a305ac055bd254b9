package agenthost_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"bellhop/agenthost"
)

// fetching is a Workspaces that counts its fetches and fails them.
type fetching struct {
	directories
	count *atomic.Int64
	host  func() *agenthost.Host
	open  *atomic.Int64 // turns that were open during the fetches
}

func (f fetching) Fetch(ctx context.Context, _, _ string) error {
	f.count.Add(1)
	status, err := f.host().Status(ctx)
	if err == nil {
		f.open.Add(int64(status.OpenTurns))
	}
	return errors.New("the project's disk is full")
}

func TestCommitsAreFetchedBeforeATurnEnds(t *testing.T) {
	t.Parallel()
	var count, open atomic.Int64
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.Workspaces = fetching{directories{t.TempDir()}, &count, func() *agenthost.Host { return r.host }, &open}
	}
	r.start()
	frames := r.turn("s1", "t1", writeText("Done"))
	if kinds := types(frames); kinds[len(kinds)-1] != "finish" {
		t.Errorf("the turn ended with %v", kinds)
	}
	if count.Load() != 1 || open.Load() != 1 {
		t.Errorf("%d fetches, %d of them during a turn", count.Load(), open.Load())
	}
}
