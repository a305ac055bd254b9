package database

import (
	"context"
	"sync/atomic"
	"time"
)

// budget is the time that one request may still wait for the database.
type budget struct{ left atomic.Int64 } // nanoseconds

type budgetKey struct{}

// WithBudget limits the total time that all statements with this context wait for
// PostgreSQL. When it is used up, statements fail with protocol.CodeUnavailable.
// Only the wait for the database counts. A budget replaces an earlier one of ctx.
func WithBudget(ctx context.Context, limit time.Duration) context.Context {
	b := &budget{}
	b.left.Store(int64(limit))
	return context.WithValue(ctx, budgetKey{}, b)
}

// WithoutBudget is for work that outlives a request, such as a feed: each statement
// has the default limit for itself.
func WithoutBudget(ctx context.Context) context.Context {
	if _, bounded := ctx.Value(budgetKey{}).(*budget); !bounded {
		return ctx
	}
	return context.WithValue(ctx, budgetKey{}, (*budget)(nil))
}

// timeLeft returns the budget of ctx, at most limit.
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
