package httpapi_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/internal/httpapi"
)

func TestLimiterGivesEachKeyItsBurstAndRate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	limiter := httpapi.NewLimiter(httpapi.LimiterOptions{Now: func() time.Time { return now }})
	take := func(key string, n int) (granted int, retryAfter time.Duration) {
		for range n {
			ok, after := limiter.Allow(key)
			if ok {
				granted++
			} else {
				retryAfter = after
			}
		}
		return granted, retryAfter
	}
	if granted, after := take("a", 1000); granted != 200 || after != 20*time.Millisecond {
		t.Fatalf("burst: %d, retry after %v", granted, after)
	}
	if granted, _ := take("b", 1000); granted != 200 {
		t.Fatalf("another key: %d", granted)
	}
	now = now.Add(time.Second)
	if granted, _ := take("a", 1000); granted != 50 {
		t.Fatalf("after a second: %d", granted)
	}
	now = now.Add(time.Hour)
	if granted, _ := take("a", 1000); granted != 200 {
		t.Fatalf("after an hour: %d", granted)
	}
}

func TestLimiterDropsTheLeastRecentlyUsedKey(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	limiter := httpapi.NewLimiter(httpapi.LimiterOptions{
		Rate: 1, Burst: 1, MaxKeys: 3, Now: func() time.Time { return now },
	})
	for _, key := range []string{"a", "b", "c", "a", "d"} { // d pushes b out
		limiter.Allow(key)
	}
	for key, want := range map[string]bool{"a": false, "d": false} {
		if ok, _ := limiter.Allow(key); ok != want {
			t.Errorf("%s: %v", key, ok)
		}
	}
	if ok, _ := limiter.Allow("b"); !ok {
		t.Error("b was not forgotten")
	}
	for i := range 100 {
		limiter.Allow(fmt.Sprint(i))
	}
	if n := limiter.Keys(); n != 3 {
		t.Errorf("%d keys", n)
	}
}

func TestLimiterUnderConcurrency(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	limiter := httpapi.NewLimiter(httpapi.LimiterOptions{Now: func() time.Time { return now }})
	var granted atomic.Int64
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 50 {
				if ok, _ := limiter.Allow("k"); ok {
					granted.Add(1)
				}
			}
		})
	}
	group.Wait()
	if n := granted.Load(); n != 200 {
		t.Fatalf("%d granted", n)
	}
}
