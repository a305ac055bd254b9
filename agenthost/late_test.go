package agenthost_test

import (
	"errors"
	"fmt"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// checkIn opens the session as a broker does whose database has the task at a revision.
func (r *rig) checkIn(turn, incarnation string, rev int64) (*protocol.OpenSessionResponse, error) {
	return r.host.Open(r.Context(), &protocol.OpenSessionRequest{
		SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Incarnation: incarnation,
		Cursor: r.broker.cursorOf("s1"), Turn: &protocol.AnnouncedTurn{ID: turn, Rev: rev},
	}, agenthost.Keys{})
}

// Check-ins that a broker gave up reach the host late, and for the first time.
func TestALateCheckInDoesNotSupersedeALaterOne(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarts %t", restarts), func(t *testing.T) {
			t.Parallel()
			r := newRig(t).start()
			refused := func(turn string, rev int64) {
				t.Helper()
				_, err := r.checkIn(turn, "life-1", rev)
				var of *protocol.Error
				if !errors.As(err, &of) || of.Code != protocol.CodeConflict || of.Fields["rev"] != int64(7) {
					t.Errorf("%s at %d: %v", turn, rev, err)
				}
			}
			opened, err := r.checkIn("t7", "life-1", 7)
			if err != nil {
				t.Fatal(err)
			}
			if restarts {
				r.open(r.crash())
				r.run()
			}
			refused("t5", 5)
			if _, err := r.checkIn("t7", "life-1", 6); err != nil { // the same turn once more is no other
				t.Error(err)
			}
			r.read(r.startGrant(r.grant("s1", opened.Token)))
			refused("t6", 6)                                        // also when the later turn is over
			if _, err := r.checkIn("t8", "life-2", 3); err != nil { // a restored database has lower revisions
				t.Error(err)
			}
			if _, err := r.checkIn("t9", "life-2", 4); err != nil {
				t.Error(err)
			}
		})
	}
}
