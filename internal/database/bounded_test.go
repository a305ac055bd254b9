package database

import (
	"context"
	"errors"
	"log/slog"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/internal/testenv"
)

func TestAWaitEndsWithItsParentOrByItsTimerUntilItIsSettled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event func(w wait, cancelParent func())
		want  error
	}{
		"the parent ends": {func(_ wait, cancel func()) { cancel() }, context.Canceled},
		"the timer fires": {func(wait, func()) { time.Sleep(time.Second) }, context.DeadlineExceeded},
		"settled, then both": {
			func(w wait, cancel func()) { w.settle(); cancel(); time.Sleep(time.Hour) }, nil,
		},
		"settled, while both are possible": {func(w wait, _ func()) { w.settle() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			// The bubble fails if a goroutine is left: a wait that nothing ends must have started none.
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.Background())
				defer cancel()
				w, called := newStatementWait(parent, time.Second), false
				context.AfterFunc(w, func() { called = true })
				c.event(w, cancel)
				synctest.Wait()
				late := errors.Is(c.want, context.DeadlineExceeded)
				if err := w.Err(); !errors.Is(err, c.want) || called != (c.want != nil) || w.isLate() != late {
					t.Errorf("it ended with %v, late %t, AfterFunc called: %t", err, w.isLate(), called)
				}
			})
		})
	}
}

// benchClients is how many requests use the database at a time, as in docs/benchmarks.md.
const benchClients = 32

// BenchmarkBoundedCall measures what the deadline, the budget and the breaker add to one
// statement, without a database.
func BenchmarkBoundedCall(b *testing.B) {
	guard := &breaker{log: slog.New(slog.DiscardHandler)}
	run := func(name string, call func(context.Context) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := requestContext(b)
			for b.Loop() {
				if err := call(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	nothing := func(context.Context) error { return nil }
	run("bare", nothing)
	run("bounded", func(ctx context.Context) error { return bounded(ctx, guard, nothing) })
}

// BenchmarkStatement runs the same statements on PostgreSQL with and without deadline, budget
// and breaker. cpu-ns/op is the CPU time of this process for one statement, PostgreSQL's left out.
func BenchmarkStatement(b *testing.B) {
	db, err := Open(b.Context(), testenv.Postgres(b, nil), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	pool := db.pools[0]
	b.Run("bare", func(b *testing.B) { runStatements(b, pool) })
	b.Run("bounded", func(b *testing.B) { runStatements(b, &boundedPool{pool, db.breaker}) })
}

func runStatements(b *testing.B, q querier) {
	b.ReportAllocs()
	b.SetParallelism(benchClients / 2) // of GOMAXPROCS, which is 2 there
	before := cpuTime(b)
	b.RunParallel(func(pb *testing.PB) {
		ctx := requestContext(b)
		for pb.Next() {
			if _, err := q.ExecContext(ctx, "SELECT 1"); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// requestContext is the context of an HTTP request with a budget: it can be canceled.
func requestContext(b *testing.B) context.Context {
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	return WithBudget(ctx, time.Hour)
}

func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
