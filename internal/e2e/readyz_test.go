//go:build full

package e2e

import (
	"database/sql"
	"net/http"
	"testing"
	"time"

	"bellhop/internal/probe"
)

// PROC-10: probes of load balancers cost at most one write a second, however often they come.
func TestHealthChecksWriteAtMostOnceASecond(t *testing.T) {
	t.Parallel()
	s := newStack(t, postgres)
	journal := openSQL(t, "sqlite3", "file:"+s.journal()+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	broker := s.openDB()
	value := func(db *sql.DB, query string) (value string) {
		rows(t, db, query, func(r *sql.Rows) error { return r.Scan(&value) })
		return value
	}
	for url, read := range map[string]func() string{
		s.broker.url: func() string { return value(broker, `SELECT value FROM meta WHERE name = 'probe'`) },
		s.host.url:   func() string { return value(journal, `SELECT value FROM probe WHERE id = 1`) },
	} {
		written := map[string]bool{}
		begin := time.Now()
		for range 100 {
			if status := statusOf(t, url+"/readyz"); status != http.StatusOK {
				t.Fatalf("%s/readyz: %d", url, status)
			}
			written[read()] = true
		}
		passed := int(time.Since(begin)/time.Second) + 2 // with the one at each end
		if n := len(written); n > passed || probe.Interval != time.Second {
			t.Errorf("%s: 100 health checks in %d s wrote %d times", url, passed, n)
		}
	}
}
