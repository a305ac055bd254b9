package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
	"bellhop/webhook/outbound"
)

// With 100 000 queued deliveries no statement of the queue scans the table.
func TestClaimingScansNoTable(t *testing.T) {
	t.Parallel()
	db := storetest.OpenDB(t, storetest.PostgresURL(t))
	fill(t, db)
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	store := New(db, nil)
	some, hosts := db.Texts([]string{"d000001", "d000002", "d000003", "d050000"}), db.Texts([]string{"h1:443", "h2:443"})
	claims := []claimed{{"d000001", "l"}, {"d000002", "l"}}
	orders := []outbound.Order{{EndpointID: "e1", Key: "c1"}, {EndpointID: "e2", Key: "c2"}}
	ends := []outbound.Conclusion{
		{Delivery: &outbound.Delivery{ID: "d000001"}}, {Delivery: &outbound.Delivery{ID: "d000002"}},
	}
	for _, c := range []struct {
		name, sql string
		args      []any
	}{
		{"candidates", candidatesSQL(), []any{now, 512}},
		{"latest candidates", latestCandidatesSQL(), []any{now, 64}},
		{"hosts", store.dueHostsSQL(), []any{"", 512, now, 512, hosts, 64}},
		{"candidates of hosts", candidatesOfAllSQL(), []any{hosts, now, 4}},
		{"claimable", store.claimableSQL(), []any{some, now, now}},
		{"claim", store.claimSQL(), []any{"lease", now, now, some}},
		{"park", store.parkSQL(), []any{now, "waiting", some, now}},
		{"renew", renewSQL(), database.AppendArrays([]any{now}, claimColumns, pointers(claims))},
		{"record", recordAllSQL(), database.AppendArrays(nil, conclusionColumns, pointers(ends))},
		{"advance", advanceAllSQL(), database.AppendArrays([]any{now, "waiting"}, orderColumns, pointers(orders))},
		{"next due", nextDueSQL(), []any{now}},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := explain(t.Context(), db, c.sql, c.args)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "Index") {
				t.Error(plan)
			}
		})
	}
}

// explain returns the plan of a statement with placeholders of either form.
func explain(ctx context.Context, db *database.DB, sql string, args []any) (string, error) {
	var plan []string
	err := db.Write(ctx, func(ctx context.Context) error {
		if !strings.Contains(sql, "$1") {
			return db.Conn(ctx).Raw("EXPLAIN "+sql, args...).Scan(&plan).Error
		}
		rows, err := db.Conn(ctx).Statement.ConnPool.QueryContext(ctx, "EXPLAIN "+sql, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			plan = append(plan, line)
		}
		return rows.Err()
	})
	return strings.Join(plan, "\n"), err
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
