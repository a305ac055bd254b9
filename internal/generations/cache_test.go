package generations_test

import (
	"sync"
	"testing"

	"bellhop/internal/generations"
)

func TestACacheNeverHoldsMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{-1, 0, 1, 2, 3, 7, 1000, 1_000_000} {
		c := generations.New[int, int](limit)
		for i := range 3000 {
			c.Put(i, i)
			if c.Len() > max(0, limit) {
				t.Fatalf("limit %d: %d values", limit, c.Len())
			}
			if got, known := c.Get(i); known != (limit > 0) || known && got != i {
				t.Fatalf("limit %d: %d is %d, %t", limit, i, got, known)
			}
		}
	}
}

func TestWhatIsInUseIsNotForgotten(t *testing.T) {
	t.Parallel()
	c := generations.New[int, string](10)
	c.Put(-1, "used")
	for i := range 1000 {
		c.Put(i, "once")
		if got, known := c.Get(-1); !known || got != "used" {
			t.Fatalf("after %d others: %q, %t", i+1, got, known)
		}
	}
	if _, known := c.Get(500); known {
		t.Error("a value that was not used is still there")
	}
}

func TestANewValueReplacesTheOldOneInBothGenerations(t *testing.T) {
	t.Parallel()
	c := generations.New[string, int](4)
	c.Put("a", 1)
	c.Put("b", 1)
	c.Put("c", 1) // a and b are old now
	c.Put("a", 2)
	if got, _ := c.Get("a"); got != 2 || c.Len() != 3 {
		t.Errorf("%d, %d values", got, c.Len())
	}
	c.Clear()
	if _, known := c.Get("a"); known || c.Len() != 0 {
		t.Error("Clear left values")
	}
}

func TestACacheIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	c := generations.New[int, int](64)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				c.Put(i%100, worker)
				c.Get((i + worker) % 100)
			}
		})
	}
	wg.Wait()
	if c.Len() > 64 {
		t.Errorf("%d values", c.Len())
	}
}
