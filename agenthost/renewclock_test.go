package agenthost_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/protocol"
)

// signedAt is a webhook address whose token of ten minutes was issued at a time of the
// broker's clock.
func signedAt(issued time.Time) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"iat":%d,"exp":%d}`, issued.Unix(),
		issued.Add(10*time.Minute).Unix()))
	return "http://broker.example/api/agent/webhook?token=h." + claims + ".s"
}

// A broker whose clock is behind signs tokens that look expired to the host. Each is
// renewed a minute before its own end, and not again and again.
func TestARenewedTokenIsKeptWhateverTheClock(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{"the same clock": 0, "the broker is behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				begin := time.Now()
				res := r.openSession(&protocol.OpenSessionRequest{
					SessionID: "s1", WebhookURL: signedAt(begin.Add(offset)),
					Cursor: &protocol.Cursor{}, Turn: &protocol.AnnouncedTurn{ID: "t1"},
				})
				gate := make(chan struct{})
				r.agent.script(wait(gate), writeText("late"))
				stream := r.startGrant(r.grant("s1", res.Token))
				renewals := 0
				renew := func(w http.ResponseWriter, q request) {
					if strings.HasSuffix(q.path, "/renew") {
						renewals++
						_, _ = fmt.Fprintf(w, `{"webhookUrl":%q}`, signedAt(time.Now().Add(offset)))
						return
					}
					r.broker.ingest(w, q)
				}
				for range 100 {
					r.broker.next(renew)
				}
				synctest.Wait()
				time.Sleep(25 * time.Minute)
				close(gate)
				r.read(stream)
				if renewals < 2 || renewals > 3 {
					r.Errorf("%d renewals in 25 minutes", renewals)
				}
			})
		})
	}
}
