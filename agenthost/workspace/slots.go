package workspace

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// slots limit the work that reads whole work trees: of one session, of one user, and of the host. The lower limits keep
// a session or a user from holding all of the host's. Of those who wait, the session that has used them least comes
// first, so that a session with one diff does not wait for another one's many.
type slots struct {
	now                 func() time.Time
	session, user, host int // limits

	mu      sync.Mutex
	busy    map[string]int // by session and by user
	total   int
	used    map[string]usage // by session
	waiting []*waiter        // in the order of their arrival
}

// newSlots returns slots for the processors of this machine.
func newSlots(now func() time.Time) *slots {
	const session = 2
	user := max(session+1, runtime.NumCPU()+1)
	return &slots{
		now: now, session: session, user: user, host: user + 1, busy: map[string]int{}, used: map[string]usage{},
	}
}

// usage is how long a session has used slots. It halves with each usageHalf.
type usage struct {
	seconds float64
	at      time.Time
}

const (
	usageHalf   = 30 * time.Second
	usageLeast  = 0.001 // seconds that count as none
	usageTables = 1000  // sessions from which on those without use are forgotten
)

func (u usage) since(now time.Time) float64 {
	return u.seconds * math.Exp2(-now.Sub(u.at).Seconds()/usageHalf.Seconds())
}

type waiter struct {
	session, user string
	granted       chan struct{}
}

// acquire waits for a slot. user "" is a user of its own for each session.
func (s *slots) acquire(ctx context.Context, session, user string) (release func(), err error) {
	w := &waiter{"session " + session, "user " + cmp.Or(user, " "+session), make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.grant()
	s.mu.Unlock()
	select {
	case <-w.granted:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		at := slices.Index(s.waiting, w)
		if at >= 0 {
			s.waiting = slices.Delete(s.waiting, at, at+1)
		} else { // it was granted just now
			s.release(w, s.now())
		}
		return nil, ctx.Err()
	}
	began := s.now()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.release(w, began)
	}), nil
}

// release gives a slot back. The caller holds the lock.
func (s *slots) release(w *waiter, began time.Time) {
	now := s.now()
	s.used[w.session] = usage{s.used[w.session].since(now) + now.Sub(began).Seconds(), now}
	s.total--
	for _, key := range []string{w.session, w.user} {
		if s.busy[key]--; s.busy[key] == 0 {
			delete(s.busy, key)
		}
	}
	if len(s.used) > usageTables {
		for key, used := range s.used {
			if used.since(now) < usageLeast {
				delete(s.used, key)
			}
		}
	}
	s.grant()
}

// grant gives free slots to those who wait. The caller holds the lock.
func (s *slots) grant() {
	for s.total < s.host {
		now, next := s.now(), -1
		for i, w := range s.waiting {
			if s.busy[w.session] < s.session && s.busy[w.user] < s.user &&
				(next < 0 || s.used[w.session].since(now) < s.used[s.waiting[next].session].since(now)) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.total++
		s.busy[w.session]++
		s.busy[w.user]++
		close(w.granted)
	}
}

// acquireSlot waits until another piece of work that reads a whole work tree may run for a workspace.
func (m *Manager) acquireSlot(ctx context.Context, rec *record) (release func(), err error) {
	session := m.sessionIn(rec)
	user := rec.Owner
	if of := m.users.Load(); user == "" && of != nil {
		user = (*of)(session)
	}
	return m.slots.acquire(ctx, cmp.Or(session, rec.Key), user)
}

// sessionIn returns the session that works in a workspace, "" for none.
func (m *Manager) sessionIn(rec *record) string {
	if rec.Session != "" || rec.Kind == kindShared {
		return rec.Session
	}
	return m.userOf(rec)
}

// SetUsers sets the function that names the user of a session, or returns "".
func (m *Manager) SetUsers(of func(sessionID string) string) { m.users.Store(&of) }

func acquire(ctx context.Context, slots chan struct{}) (release func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
