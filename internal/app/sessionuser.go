package app

import (
	"sync"

	"bellhop/agenthost/sandbox"
	"bellhop/agenthost/workspace"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

// sessionUsers gives the programs of each session a user id of its own, and the session's files to it. Who
// owns a session's state directory is its user, so nothing else records that.
type sessionUsers struct {
	workspaces *workspace.Manager
	users      *sandbox.Users

	mu    sync.Mutex
	taken map[int]bool // ids of files below the host's data
	next  int          // where the search for a free id begins
}

// open returns the user of a session's programs after its state directory and the workspace root belong to
// it. What the host made there belongs to root, so its owner changes here once.
func (s *sessionUsers) open(session, root string) (*owner.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := s.workspaces.StateOwner(session)
	if err != nil {
		return nil, err
	}
	if !s.users.Has(id) {
		if id, err = s.free(); err != nil {
			return nil, err
		}
	}
	return &id, s.workspaces.Give(session, root, id)
}

// free returns an id that no session has. Ids of deleted sessions are not given again before all others, as
// files of them may be left.
func (s *sessionUsers) free() (owner.ID, error) {
	if !s.users.IsRange() {
		return s.users.Shared(), nil
	}
	for range 2 {
		if s.taken == nil {
			var err error
			if s.taken, err = s.workspaces.Owners(); err != nil {
				return owner.ID{}, err
			}
		}
		size := s.users.Last - s.users.First // the first id is no session's
		for range size {
			uid := s.users.First + 1 + s.next%size
			s.next++
			if !s.taken[uid] {
				s.taken[uid] = true
				return owner.ID{UID: uid, GID: s.users.GID}, nil
			}
		}
		s.taken = nil // sessions may have been deleted
	}
	return owner.ID{}, &protocol.Error{
		Code: protocol.CodeUnavailable, Message: "No user id is free for the agent of another session",
		Hint: "Delete sessions that are done, or write a longer range as 'user' under 'sandbox' of the host's configuration",
	}
}
