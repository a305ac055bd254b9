package notebook

import (
	"context"
	"time"

	"bellhop/protocol"
)

// Hints returns the state of each of the user's agent sessions, for the user's feed.
func (s *Service) Hints(ctx context.Context, userID string) ([]protocol.AgentHint, error) {
	sessions, err := s.o.Store.Sessions(ctx, userID, "")
	if err != nil {
		return nil, err
	}
	now := s.nowUTC()
	hints := make([]protocol.AgentHint, len(sessions))
	for i := range sessions {
		session := &sessions[i]
		hints[i] = protocol.AgentHint{
			AgentSessionID: session.ID, Rev: session.Rev, Status: session.Status(now, s.lifetime()),
			Event: session.Event, SourceID: session.EventSource,
		}
	}
	return hints, nil
}

// Revs returns the revs of the agent sessions that changed at since or later: user id → agent
// session id → rev.
func (s *Service) Revs(ctx context.Context, userIDs []string, since time.Time) (map[string]map[string]int64, error) {
	sessions, err := s.o.Store.ChangedSessions(ctx, userIDs, since)
	if err != nil {
		return nil, err
	}
	revs := map[string]map[string]int64{}
	for i := range sessions {
		of := revs[sessions[i].UserID]
		if of == nil {
			of = map[string]int64{}
			revs[sessions[i].UserID] = of
		}
		of[sessions[i].ID] = sessions[i].Rev
	}
	return revs, nil
}
