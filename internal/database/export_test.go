package database

import (
	"context"
	"time"
)

// TimeLeft returns the remaining budget of a context.
func TimeLeft(ctx context.Context) time.Duration {
	left, _ := timeLeft(ctx, time.Hour)
	return left
}

// ErrBreakerOpen is the error of statements while the breaker is open.
var ErrBreakerOpen = errBreakerOpen
