// Package wait pauses until a time has passed or a context ends.
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
