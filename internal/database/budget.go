package database

import (
	"context"
	"sync/atomic"
	"time"
)

// budget is how long one request may still wait for the database.
type budget struct{ left atomic.Int64 } // nanoseconds

type budgetKey struct{}

// WithBudget bounds the time that everything done with the context waits for
// PostgreSQL, all statements together. When it is used up, statements fail with
// protocol.CodeUnavailable. Only the wait for the database counts. A budget
// replaces one that ctx had.
func WithBudget(ctx context.Context, limit time.Duration) context.Context {
	b := &budget{}
	b.left.Store(int64(limit))
	return context.WithValue(ctx, budgetKey{}, b)
}

// WithoutBudget is for work that outlives a request, such as a feed: each
// statement has the whole default limit for itself.
func WithoutBudget(ctx context.Context) context.Context {
	if _, bounded := ctx.Value(budgetKey{}).(*budget); !bounded {
		return ctx
	}
	return context.WithValue(ctx, budgetKey{}, (*budget)(nil))
}

// timeLeft is the budget of ctx, at most limit.
func timeLeft(ctx context.Context, limit time.Duration) (time.Duration, *budget) {
	b, _ := ctx.Value(budgetKey{}).(*budget)
	if b == nil {
		return limit, nil
	}
	return min(limit, time.Duration(b.left.Load())), b
}

func (b *budget) spend(d time.Duration) {
	if b != nil {
		b.left.Add(-int64(d))
	}
}
