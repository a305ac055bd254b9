package database

import (
	"context"
	"time"
)

// TimeLeft is what is left of a context's budget.
func TimeLeft(ctx context.Context) time.Duration {
	left, _ := timeLeft(ctx, time.Hour)
	return left
}

// ErrBreakerOpen is why statements fail at once.
var ErrBreakerOpen = errBreakerOpen
