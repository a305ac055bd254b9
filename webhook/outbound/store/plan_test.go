package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
)

// With 100 000 queued deliveries no statement of the queue scans the table.
func TestClaimingScansNoTable(t *testing.T) {
	db := storetest.OpenDB(t, storetest.PostgresURL(t))
	fill(t, db)
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	some := []string{"d000001", "d000002", "d000003", "d050000"}
	lock := " FOR UPDATE OF d SKIP LOCKED"
	for _, c := range []struct {
		name, sql string
		args      []any
	}{
		{"candidates", candidatesSQL, []any{now, 512}},
		{"other candidates", otherCandidatesSQL, []any{now, 4096, []string{"h1:443"}, 512}},
		{"hosts", dueHostsSQL, []any{"", now, 64}},
		{"candidates of a host", candidatesOfSQL + " UNION ALL " + candidatesOfSQL, []any{"h1:443", now, 4, "h2:443", now, 4}},
		{"claimable", claimableSQL + lock, []any{some, now, now}},
		{"claim", claimSQL, []any{"lease", now, now, some}},
		{"park", parkSQL + lock + ")", []any{now, "waiting", some, now}},
		{"advance", advanceSQL, []any{now, "e1", "c1", "waiting"}},
		{"next due", nextDueSQL, []any{now}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var plan []string
			err := db.Write(t.Context(), func(ctx context.Context) error {
				return db.Conn(ctx).Raw("EXPLAIN "+c.sql, c.args...).Scan(&plan).Error
			})
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan") || !strings.Contains(text, "Index") {
				t.Error(text)
			}
		})
	}
}

func fill(t *testing.T, db *database.DB) {
	t.Helper()
	statements := []string{
		`INSERT INTO users (id, email, password_hash, admin, created_at) VALUES ('u', 'u@example.org', '', FALSE, now())`,
		`INSERT INTO webhook_endpoints (id, user_id, kind, url, host, secret, events, disabled_reason, created_at)
			SELECT 'e' || n, 'u', 'agent', 'https://h' || n, 'h' || n || ':443', '', '[]', '', now() FROM generate_series(0, 999) n`,
	}
	for from := range 20 { // small enough for the statement timeout
		statements = append(statements, fmt.Sprintf(`INSERT INTO deliveries (id, endpoint_id, user_id, kind, host, message_id, event,
				order_key, position, state, reason, attempts, lease, next_at, expires_at, created_at)
			SELECT 'd' || to_char(n, 'FM000000'), 'e' || n %% 1000, 'u', 'agent', 'h' || n %% 1000 || ':443', 'm' || n, 'x', 'c' || n %% 5000, n,
				'queued', '', 0, '', timestamptz '2026-03-04 05:06:07Z' + (n - 500) * interval '1 second', now() + interval '1 day', now()
			FROM generate_series(%d, %d) n`, from*5000+1, (from+1)*5000))
	}
	for _, sql := range append(statements, `ANALYZE deliveries`) {
		err := db.Write(t.Context(), func(ctx context.Context) error { return db.Conn(ctx).Exec(sql).Error })
		if err != nil {
			t.Fatal(err)
		}
	}
}
