package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bellhop/protocol"
)

// QuotaLimits are the most that one user may have; 0: no limit.
type QuotaLimits struct {
	Tasks   int   // that are not deleted
	Storage int64 // bytes of messages and events, of tasks that are not deleted
	Feeds   int   // open at the same time on one replica
	Streams int   // relayed at the same time by one replica
}

// QuotaStore counts what a user has.
type QuotaStore interface {
	CountTasks(ctx context.Context, userID string) (int, error)
	StoredBytes(ctx context.Context, userID string) (int64, error)
}

// Quotas limit what one user may have. A nil *Quotas limits nothing.
type Quotas struct {
	Limits QuotaLimits
	Store  QuotaStore
	Now    func() time.Time

	feeds   userSlots
	streams userSlots

	mu     sync.Mutex
	stored map[string]storedBytes
}

// storedBytes is how much a user had stored at a time, with the bytes that were added since.
type storedBytes struct {
	bytes int64
	at    time.Time
}

const (
	// storedFor is how long a sum of bytes is reused, because computing it reads all messages of the user.
	storedFor = time.Minute
	maxStored = 10_000 // users whose sums are kept
	// openRetry is when a client may ask again for a feed or a stream, in seconds.
	openRetry = 10
)

// allowTask returns CodeQuota when the user has as many tasks as they may have. Requests at the same
// moment may exceed the limit by their number.
func (q *Quotas) allowTask(ctx context.Context, userID string) error {
	if q == nil || q.Limits.Tasks == 0 {
		return nil
	}
	n, err := q.Store.CountTasks(ctx, userID)
	if err != nil || n < q.Limits.Tasks {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeQuota, Message: fmt.Sprintf("You have %d tasks, and may have %d", n, q.Limits.Tasks),
		Hint: "Delete tasks that you do not need any more; archived ones count too",
	}
}

// allowMessage returns CodeQuota when a message of that many bytes would exceed what the user may store.
func (q *Quotas) allowMessage(ctx context.Context, userID string, bytes int) error {
	if q == nil || q.Limits.Storage == 0 {
		return nil
	}
	now := q.Now()
	q.mu.Lock()
	has, known := q.stored[userID]
	q.mu.Unlock()
	if !known || now.Sub(has.at) >= storedFor || has.bytes+int64(bytes) > q.Limits.Storage {
		n, err := q.Store.StoredBytes(ctx, userID)
		if err != nil {
			return err
		}
		has = storedBytes{bytes: n, at: now}
	}
	if has.bytes+int64(bytes) > q.Limits.Storage {
		return &protocol.Error{
			Code: protocol.CodeQuota, Hint: "Delete tasks that you do not need any more",
			Message: fmt.Sprintf("Your tasks have %d bytes of messages, and may have %d", has.bytes, q.Limits.Storage),
		}
	}
	has.bytes += int64(bytes)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stored == nil || len(q.stored) >= maxStored {
		q.stored = map[string]storedBytes{}
	}
	q.stored[userID] = has
	return nil
}

// OpenFeed counts a feed of a user until close is called. CodeTooManyRequests: the user has as many as
// they may have.
func (q *Quotas) OpenFeed(userID string) (closeFeed func(), err error) {
	if q == nil || q.Limits.Feeds == 0 {
		return func() {}, nil
	}
	return openSlot(&q.feeds, userID, q.Limits.Feeds, "feeds")
}

// openStream is OpenFeed for relayed streams.
func (q *Quotas) openStream(userID string) (closeStream func(), err error) {
	if q == nil || q.Limits.Streams == 0 {
		return func() {}, nil
	}
	return openSlot(&q.streams, userID, q.Limits.Streams, "relayed streams")
}

func openSlot(slots *userSlots, userID string, limit int, what string) (func(), error) {
	release, ok := slots.try(userID, limit)
	if !ok {
		return nil, &protocol.Error{
			Code: protocol.CodeTooManyRequests, Message: fmt.Sprintf("You have %d open %s, and may have no more", limit, what),
			Hint: "Close other pages and programs that follow your tasks", RetryAfter: openRetry,
		}
	}
	return sync.OnceFunc(release), nil
}
