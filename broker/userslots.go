package broker

import (
	"context"
	"sync"
)

// userSlots limits how much of something each user has at a time. One userSlots is always asked with
// the same limit. The zero value is ready.
type userSlots struct {
	mu    sync.Mutex
	users map[string]*userSlot
}

type userSlot struct {
	taken chan struct{}
	used  int // by holders and waiters
}

// acquire waits for a slot of the user, at most until ctx ends. release must be called once.
func (s *userSlots) acquire(ctx context.Context, userID string, limit int) (release func(), err error) {
	slot := s.use(userID, limit)
	select {
	case slot.taken <- struct{}{}:
		return s.release(userID, slot), nil
	case <-ctx.Done():
		s.leave(userID, slot)
		return nil, ctx.Err()
	}
}

// try is acquire without waiting. ok is false when the user has all their slots.
func (s *userSlots) try(userID string, limit int) (release func(), ok bool) {
	slot := s.use(userID, limit)
	select {
	case slot.taken <- struct{}{}:
		return s.release(userID, slot), true
	default:
		s.leave(userID, slot)
		return nil, false
	}
}

func (s *userSlots) release(userID string, slot *userSlot) func() {
	return func() {
		<-slot.taken
		s.leave(userID, slot)
	}
}

func (s *userSlots) use(userID string, limit int) *userSlot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == nil {
		s.users = map[string]*userSlot{}
	}
	slot := s.users[userID]
	if slot == nil {
		slot = &userSlot{taken: make(chan struct{}, limit)}
		s.users[userID] = slot
	}
	slot.used++
	return slot
}

// leave forgets users without holders and waiters.
func (s *userSlots) leave(userID string, slot *userSlot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot.used--; slot.used == 0 {
		delete(s.users, userID)
	}
}
