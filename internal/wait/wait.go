// Package wait pauses until a time has passed, or repeats a call, until a context ends.
package wait

import (
	"context"
	"time"
)

// For pauses for d. It returns false at once when ctx ends.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Every calls f at once, and again each time that the interval has passed, until ctx ends. A call
// that takes longer than the interval delays the next one.
func Every(ctx context.Context, interval time.Duration, f func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		f(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Until calls done, with the interval between two calls, until it returns true. It returns the error
// of ctx if that ends first. done gets ctx.
func Until(ctx context.Context, interval time.Duration, done func(context.Context) bool) error {
	for !done(ctx) {
		if !For(ctx, interval) {
			return ctx.Err()
		}
	}
	return nil
}
