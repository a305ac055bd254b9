package outbound_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/webhook/outbound"
)

// On a fake clock that moves only while everything waits: the lag of the others is the
// time they wait for the endpoint that hangs and its backlog.
func TestOneOfAThousandEndpointsHangs(t *testing.T) {
	t.Parallel()
	endpoints, backlog := 1000, 700
	if testing.Short() { // too slow under the race detector
		endpoints = 100
	}
	synctest.Test(t, func(t *testing.T) {
		r := run(t, func(r *http.Request, _ int) (int, error) {
			takes := 50 * time.Millisecond
			if strings.HasPrefix(r.URL.Host, "h000.") {
				takes = 30 * time.Second
			}
			select {
			case <-time.After(takes):
				return 200, nil
			case <-r.Context().Done():
				return 0, r.Context().Err()
			}
		})
		time.Sleep(10 * time.Second)
		due := time.Since(r.sent.t0)
		err := r.site.Store.Write(t.Context(), func(ctx context.Context) error {
			for i := range endpoints {
				e, err := r.worker.Register(ctx, r.user, outbound.EndpointRequest{
					Kind: agentKind, URL: fmt.Sprintf("https://h%03d.example.com", i),
				})
				if err != nil {
					return err
				}
				messages := 1
				if i == 0 {
					messages = backlog
				}
				for m := range messages {
					if _, err := r.worker.Enqueue(ctx,
						outbound.Message{EndpointID: e.ID, MessageID: fmt.Sprintf("h%03d_%d", i, m), Body: []byte("{}")}); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		others := 0
		at := r.sent.times()
		for i, id := range r.sent.sent() {
			if strings.HasPrefix(id, "h000_") {
				continue
			}
			others++
			if lag := at[i] - due; lag >= 2*time.Second {
				t.Errorf("%s lagged %s", id, lag)
			}
		}
		if others != endpoints-1 {
			t.Errorf("%d of %d within 2 s", others, endpoints-1)
		}
		r.stop()
	})
}
