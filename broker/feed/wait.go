package feed

import (
	"context"
	"log/slog"
	"time"
)

// waitWoken sends pings until there may be something to read. It returns false when the
// connection or the feed ends.
func waitWoken(ctx context.Context, c *conn, w *watcher, ping, retry <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-c.feed.stop:
			return false
		case <-w.woken:
			return true
		case <-retry:
			return true
		case <-ping:
			c.ping()
		}
	}
}

// pause waits for d. It returns false when the connection or the feed ends.
func pause(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	}
}

// retryGap is the time before a failed read is repeated. Without a retry the change
// that woke the reader would not be sent before the next one.
const retryGap = 500 * time.Millisecond

// retry wakes a reader after a failed read.
type retry struct {
	timer  *time.Timer
	failed bool
}

func newRetry() *retry { return &retry{} }

func (r *retry) after(ctx context.Context, log *slog.Logger, err error) {
	if !r.failed {
		log.WarnContext(ctx, "feed: reading changes fails", "error", err)
	}
	r.failed = true
	r.stop()
	r.timer = time.NewTimer(retryGap)
}

func (r *retry) reset() {
	r.stop()
	r.failed = false
}

func (r *retry) stop() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

func (r *retry) c() <-chan time.Time {
	if r.timer == nil {
		return nil
	}
	return r.timer.C
}
