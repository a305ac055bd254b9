package workspace

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// wait starts work that needs a slot, and returns where it says that it has one, and what ends it.
func (s *slots) wait(t *testing.T, session, user string) (has *bool, end func()) {
	has = new(bool)
	ended := make(chan struct{})
	go func() {
		release, err := s.acquire(t.Context(), session, user)
		if err != nil {
			t.Error(err)
			return
		}
		*has = true
		<-ended
		release()
	}()
	synctest.Wait()
	return has, func() { close(ended); synctest.Wait() }
}

func TestASessionAndAUserCannotHaveAllSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(time.Now)
		var ends []func()
		running := map[string]int{}
		start := func(session, user string) {
			has, end := s.wait(t, session, user)
			ends = append(ends, end)
			if *has {
				running[session]++
				running["user "+user]++
			}
		}
		for range s.session + 1 {
			start("a", "eve")
		}
		for i := range s.user {
			start(fmt.Sprint("b", i), "eve")
		}
		start("c", "ada")
		if running["a"] != s.session || running["user eve"] != s.user || running["c"] != 1 {
			t.Errorf("running %v, limits %d, %d and %d", running, s.session, s.user, s.host)
		}
		for _, end := range ends {
			end()
		}
		if s.total != 0 || len(s.busy) != 0 || len(s.waiting) != 0 {
			t.Errorf("%d slots are held, by %v, and %d wait", s.total, s.busy, len(s.waiting))
		}
	})
}

// A session that asks for its first diff does not wait for the many that others have asked for before.
func TestTheSessionThatUsedSlotsLeastComesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(time.Now)
		s.session, s.user, s.host = 1, 1, 1
		for range 3 {
			_, end := s.wait(t, "busy", "eve")
			time.Sleep(time.Second)
			end()
		}
		_, end := s.wait(t, "other", "bob")
		first, endFirst := s.wait(t, "busy", "eve")
		second, endSecond := s.wait(t, "quiet", "ada")
		end()
		if *first || !*second {
			t.Errorf("busy %v, quiet %v", *first, *second)
		}
		time.Sleep(time.Hour) // now the quiet one has used them most
		again, endAgain := s.wait(t, "quiet", "ada")
		endSecond()
		if !*first || *again {
			t.Errorf("later busy %v, quiet %v", *first, *again)
		}
		endFirst()
		endAgain()
	})
}

func TestWhoStopsWaitingHoldsNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(time.Now)
		s.host = 1
		_, end := s.wait(t, "a", "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.acquire(ctx, "b", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		end()
		has, end := s.wait(t, "c", "")
		if !*has {
			t.Error("a slot is held for ever")
		}
		end()
	})
}
