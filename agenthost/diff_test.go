package agenthost_test

import (
	"context"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// diffingDirectory returns an empty diff to all callers at once.
type diffingDirectory struct {
	sharedDirectory

	arrived *sync.WaitGroup
}

func (d diffingDirectory) Diff(context.Context, string, string) (*protocol.Diff, error) {
	d.arrived.Done()
	d.arrived.Wait()
	return &protocol.Diff{}, nil
}

// The first use of a session's secret creates it. Without a lock, the race detector finds the
// writes of two requests.
func TestDiffsAtOnceAgreeOnTheSecretsThatTheyMask(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var arrived, ended sync.WaitGroup
	arrived.Add(2)
	r.options = func(o *agenthost.Options) {
		o.LocalURL, o.Workspaces = localURL, diffingDirectory{sharedDirectory(r.TempDir()), &arrived}
	}
	r.start()
	r.openSession(&protocol.OpenSessionRequest{SessionID: "s1", WebhookURL: r.broker.url(), Attach: true})
	for range 2 {
		ended.Go(func() {
			if _, err := r.host.Diff(t.Context(), "s1"); err != nil {
				t.Error(err)
			}
		})
	}
	ended.Wait()
}
