package agenthost_test

import (
	"fmt"
	"testing"

	"bellhop/protocol"
)

// A broker that lost events of the open turn, and says so by a gap, gets them
// again without a new session: the host goes back to the broker's cursor.
func TestAGapIsAnsweredFromTheJournal(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(lost, " events lost"), func(t *testing.T) {
			r := newRig(t).start()
			gate := make(chan struct{})
			stream := r.startNew("s1", "t1", writeText("one"), endText(""), writeText("two"), endText(""),
				wait(gate), writeText("three"))
			r.until("both texts are acknowledged", func() bool {
				status, err := r.host.Status(t.Context())
				return err == nil && status.Unacknowledged == 0 && len(r.broker.of("s1")) == 3
			})
			before := summary(r.broker.of("s1"))
			r.broker.mu.Lock()
			r.broker.events["s1"] = r.broker.events["s1"][:3-lost]
			r.broker.mu.Unlock()
			close(gate)
			r.read(stream)
			r.delivered()
			got := summary(r.broker.of("s1"))
			wantLines(t, "the lost events", got[:3], before)
			if last := r.broker.cursorOf("s1"); *last != (protocol.Cursor{Epoch: 1, Seq: 6}) || len(got) != 6 {
				t.Errorf("the broker is at %v with %q", last, got)
			}
			if len(r.broker.seen()) > 40 {
				t.Errorf("%d requests", len(r.broker.seen()))
			}
		})
	}
}
