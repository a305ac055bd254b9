package agenthost_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
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
	var count, open atomic.Int64
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.Workspaces = fetching{directories{t.TempDir()}, &count, func() *agenthost.Host { return r.host }, &open}
	}
	r.start()
	frames := r.turn("s1", "t1", writeText("Done"))
	if last := frames[len(frames)-1]; protocol.PartType(types(frames)[len(frames)-1]) != protocol.PartFinish {
		t.Errorf("the last frame is %v", last)
	}
	if count.Load() != 1 || open.Load() != 1 {
		t.Errorf("%d fetches, %d of them during a turn", count.Load(), open.Load())
	}
}
