// Package plans finds statements whose work grows with the data. It watches every statement
// that a test runs on a large database, as the database itself executed it: on PostgreSQL by
// auto_explain, on SQLite by the counters of the prepared statement. So no list of statements
// has to be kept.
package plans

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/internal/database"
)

const (
	// growing is the number of rows from which a table counts as one that grows.
	growing = 1000
	// slack is the number of rows that a statement may read besides 10 per row that it returns.
	slack  = 200
	factor = 10
)

// Excuse names a statement that may read more, by a part of its text.
type Excuse struct{ Part, Why string }

// Watch collects the statements that read too much.
type Watch struct {
	excuses []Excuse

	mu      sync.Mutex
	tables  map[string]bool // those that grow
	seen    int
	faults  map[string]string // by statement
	excused map[string]bool   // parts of excuses that were needed
}

// New returns a Watch that accepts the excused statements.
func New(excuses ...Excuse) *Watch {
	return &Watch{excuses: excuses, faults: map[string]string{}, excused: map[string]bool{}}
}

// Open opens a database that has its rows and their statistics already. All of its statements are watched.
func (w *Watch) Open(t testing.TB, rawURL string) *database.DB {
	t.Helper()
	opts := database.Options{Synchronous: "OFF", Patience: 20 * time.Second}
	if path := database.FilePath(rawURL); path != "" {
		stop := w.watchSQLite(path)
		t.Cleanup(stop)
	} else {
		opts.OnNotice = w.notice
		rawURL = explained(t, rawURL)
	}
	db, err := database.Open(context.Background(), rawURL, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if db.Dialect() == database.Postgres {
		w.findTables(t, db)
	}
	return db
}

// findTables reads which tables grow.
func (w *Watch) findTables(t testing.TB, db *database.DB) {
	t.Helper()
	var names []string
	err := db.Conn(context.Background()).
		Raw(`SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples >= ?`, growing).Scan(&names).Error
	if err != nil || len(names) == 0 {
		t.Fatalf("tables that grow: %q, %v", names, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tables == nil {
		w.tables = map[string]bool{}
	}
	for _, name := range names {
		w.tables[name] = true
	}
}

// explained adds the settings of auto_explain to a URL. Plans of several processes, and those that are
// compiled, depend on the load.
func explained(t testing.TB, rawURL string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for name, value := range map[string]string{
		"jit":                                "off",
		"max_parallel_workers_per_gather":    "0",
		"session_preload_libraries":          "auto_explain",
		"auto_explain.log_min_duration":      "0",
		"auto_explain.log_analyze":           "on",
		"auto_explain.log_timing":            "off",
		"auto_explain.log_format":            "json",
		"auto_explain.log_level":             "notice",
		"auto_explain.log_nested_statements": "on", // of foreign keys
	} {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Check reports every statement that read too much. It fails too if no statement was seen, or
// if an excuse was not needed.
func (w *Watch) Check(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == 0 {
		t.Error("no statement was watched")
	}
	for _, statement := range slices.Sorted(keys(w.faults)) {
		t.Errorf("%s\n%s", w.faults[statement], statement)
	}
	for _, e := range w.excuses {
		if !w.excused[e.Part] {
			t.Errorf("the excuse for %q is not needed", e.Part)
		}
	}
}

func keys(m map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// add records a statement and its faults.
func (w *Watch) add(statement string, faults []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen++
	if len(faults) == 0 {
		return
	}
	text := strings.Join(strings.Fields(statement), " ")
	for _, e := range w.excuses {
		if strings.Contains(text, e.Part) {
			w.excused[e.Part] = true
			return
		}
	}
	w.faults[text] = strings.Join(faults, "\n")
}

func (w *Watch) grows(table string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tables[table]
}

// tooMuch returns a fault if a statement read too many rows for what it returned.
func tooMuch(read, returned float64) []string {
	if read <= factor*returned+slack {
		return nil
	}
	return []string{fmt.Sprintf("it read %.0f rows to return %.0f", read, returned)}
}
