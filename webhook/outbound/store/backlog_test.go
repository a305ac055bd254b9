package store_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/observe"
	"bellhop/internal/testenv"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

// An endpoint is deleted although it has more deliveries than a statement can delete: a million in
// make test-long. A request that is cut continues when it is repeated.
func TestAnEndpointWithAHugeBacklogIsDeleted(t *testing.T) {
	t.Parallel()
	backlog := int64(3000)
	if os.Getenv("BELLHOP_LONG") != "" {
		backlog = 1_000_000
	}
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		user := site.User(t)
		endpoint := addBacklog(t, site, user, backlog)
		left := func() (n int64) {
			testenv.Must(t, site.DB.Conn(t.Context()).Raw(`SELECT count(*) FROM deliveries`).Row().Scan(&n))
			return n
		}
		ctx, cut := context.WithCancel(t.Context())
		ctx = observe.WithProgress(ctx, func(int64) { cut() })
		err := site.Store.DeleteEndpoint(ctx, user, outbound.KindTask, endpoint)
		if n := left(); err == nil || n >= backlog || n == 0 {
			t.Errorf("cut: %d of %d left, %v", n, backlog, err)
		}
		testenv.Must(t, site.Store.DeleteEndpoint(t.Context(), user, outbound.KindTask, endpoint))
		if n := left(); n != 0 {
			t.Errorf("%d left", n)
		}
	})
}

// addBacklog adds an endpoint with n queued deliveries, each of which had an attempt.
func addBacklog(t *testing.T, site *outboundtest.Site, user string, n int64) (endpointID string) {
	t.Helper()
	now := time.Now().UTC()
	e := &outbound.Endpoint{
		ID: protocol.NewID(), OwnerID: user, Kind: outbound.KindTask, URL: "https://a.example",
		Secret: seal.NewSecret("secret"), CreatedAt: now,
	}
	testenv.Must(t, site.Store.CreateEndpoint(t.Context(), e))
	const step = 10_000
	for from := int64(0); from < n; from += step {
		numbers := fmt.Sprintf(`WITH RECURSIVE s (n) AS (SELECT %d UNION ALL SELECT n + 1 FROM s WHERE n < %d) `,
			from+1, min(from+step, n))
		run(t, site.DB, `INSERT INTO deliveries (id, endpoint_id, user_id, kind, host, message_id, event, order_key,
				position, state, reason, attempts, lease, next_at, expires_at, created_at) `+numbers+`
			SELECT 'd' || (10000000 + n), ?, ?, 'task', 'a.example', 'm' || (10000000 + n), 'task.finished', '',
				1, 'queued', '', 1, '', ?, ?, ? FROM s`, e.ID, user, now.Add(time.Hour), now.Add(time.Hour), now)
		run(t, site.DB, `INSERT INTO delivery_attempts (delivery_id, number, at, duration_ms, status, error) `+numbers+`
			SELECT 'd' || (10000000 + n), 1, ?, 1, 500, '' FROM s`, now)
	}
	return e.ID
}

func run(t *testing.T, db *database.DB, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), "rows", "", sql, args...)
	testenv.Must(t, err)
}
