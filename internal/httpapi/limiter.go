package httpapi

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// LimiterOptions are the settings of NewLimiter; the zero value is the limit per task of
// reliability IN-10.
type LimiterOptions struct {
	Rate    float64          // tokens a second; 0 = 50
	Burst   int              // 0 = 200
	MaxKeys int              // buckets kept; the least recently used one is dropped first; 0 = 10 000
	Now     func() time.Time // nil = time.Now
}

// Limiter has one token bucket per key. Its memory is bounded: a key whose bucket was dropped
// starts with a full one.
type Limiter struct {
	opts LimiterOptions

	mu     sync.Mutex
	byKey  map[string]*list.Element
	recent *list.List // *bucket, the most recently used first
}

type bucket struct {
	key    string
	tokens *rate.Limiter
}

// NewLimiter returns a Limiter without buckets.
func NewLimiter(opts LimiterOptions) *Limiter {
	if opts.Rate <= 0 {
		opts.Rate = 50
	}
	if opts.Burst <= 0 {
		opts.Burst = 200
	}
	if opts.MaxKeys <= 0 {
		opts.MaxKeys = 10_000
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Limiter{opts: opts, byKey: map[string]*list.Element{}, recent: list.New()}
}

// Allow takes a token of key's bucket. If the bucket is empty, it returns the time until the
// next token.
func (l *Limiter) Allow(key string) (ok bool, retryAfter time.Duration) {
	now := l.opts.Now()
	reservation := l.bucket(key).ReserveN(now, 1)
	delay := reservation.DelayFrom(now)
	if delay <= 0 {
		return true, 0
	}
	reservation.CancelAt(now)
	return false, delay
}

// Keys returns the number of buckets.
func (l *Limiter) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byKey)
}

func (l *Limiter) bucket(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if element, ok := l.byKey[key]; ok {
		l.recent.MoveToFront(element)
		return element.Value.(*bucket).tokens
	}
	if len(l.byKey) >= l.opts.MaxKeys {
		oldest := l.recent.Back()
		delete(l.byKey, l.recent.Remove(oldest).(*bucket).key)
	}
	b := &bucket{key: key, tokens: rate.NewLimiter(rate.Limit(l.opts.Rate), l.opts.Burst)}
	l.byKey[key] = l.recent.PushFront(b)
	return b.tokens
}
