package store_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
	"bellhop/internal/testenv/plans"
)

// BenchmarkFlat measures reads of a user with 100,000 tasks and 2 million messages (BELLHOP_LONG=1), and the
// same reads of a user with 100 tasks, in one run. It reports medians, and the 95th percentiles of searches.
func BenchmarkFlat(b *testing.B) {
	large := size()
	if os.Getenv("BELLHOP_LONG") == "" {
		large.Tasks = 5000
	}
	small := large
	small.Tasks = 100
	databases := map[string]func(testing.TB) string{"sqlite": storetest.SQLiteURL, "postgres": storetest.PostgresURL}
	for name, open := range databases {
		b.Run(name, func(b *testing.B) {
			var stores []*store.Store
			for _, size := range []plans.Size{small, large} {
				db, err := database.Open(b.Context(), open(b), database.Options{Synchronous: "OFF"})
				if err != nil {
					b.Fatal(err)
				}
				defer db.Close()
				plans.Fill(b, db, size)
				stores = append(stores, store.New(db, nil))
			}
			for b.Loop() {
				measureFlat(b, stores, []plans.Size{small, large})
			}
		})
	}
}

func measureFlat(b *testing.B, stores []*store.Store, sizes []plans.Size) {
	active := false
	reads := map[string]func(s *store.Store, size plans.Size) error{
		"list": func(s *store.Store, _ plans.Size) error {
			_, err := s.Tasks(b.Context(), plans.Owner, broker.TaskFilter{Archived: &active, Limit: 51})
			return err
		},
		"hints": func(s *store.Store, _ plans.Size) error {
			_, err := s.Hints(b.Context(), plans.Owner, 200)
			return err
		},
		"since": func(s *store.Store, size plans.Size) error {
			since := int64(size.Tasks * size.Messages)
			since -= 3
			_, err := s.Messages(b.Context(), plans.Large, broker.MessageQuery{Since: &since, Limit: 50})
			return err
		},
	}
	for name, read := range reads {
		var medians [2]time.Duration
		for i, s := range stores {
			medians[i], _ = timed(b, 60, func(int) error { return read(s, sizes[i]) })
		}
		b.ReportMetric(float64(medians[1])/float64(medians[0]), name+"-ratio")
		b.ReportMetric(float64(medians[1].Microseconds()), name+"-us")
	}
	// Frequent words, rare ones, beginnings, several, none.
	words := []string{
		"task", "words", "other wor", "the", "oth", "tas", "77", "words 4", "task 19",
		"1234", "nothing", "words 31 the", "wo", "123", "zzz", "other 777",
	}
	for _, q := range words {
		before := cpu(b)
		p50, p95 := timed(b, 10, func(int) error { return search(b.Context(), stores[1], q) })
		b.Logf("%-14s p50 %s p95 %s, CPU of this process %s", q, p50, p95, (cpu(b)-before)/10)
	}
	p50, p95 := timed(b, 10*len(words), func(i int) error { return search(b.Context(), stores[1], words[i%len(words)]) })
	b.ReportMetric(float64(p50.Microseconds()), "search-p50-us")
	b.ReportMetric(float64(p95.Microseconds()), "search-p95-us")
}

// cpu is the CPU time that this process has used. On SQLite that is all of a search's.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func search(ctx context.Context, s *store.Store, q string) error {
	_, err := s.Tasks(ctx, plans.Owner, broker.TaskFilter{Q: q, Limit: 51})
	return err
}

// timed returns the median and the 95th percentile of n calls.
func timed(b *testing.B, n int, call func(i int) error) (p50, p95 time.Duration) {
	b.Helper()
	all := make([]time.Duration, n)
	for i := range all {
		start := time.Now()
		if err := call(i); err != nil {
			b.Fatal(err)
		}
		all[i] = time.Since(start)
	}
	slices.Sort(all)
	return all[n/2], all[n*95/100]
}
