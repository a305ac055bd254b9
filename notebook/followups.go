package notebook

import (
	"context"
	"time"

	"bellhop/protocol"
)

// FollowupsResponse has the unanswered messages, oldest first.
type FollowupsResponse struct {
	Messages []protocol.Followup `json:"messages"`
}

// Followups returns the user's messages that the agent has not answered and marks them
// delivered.
func (s *Service) Followups(ctx context.Context, c Caller, sessionID string) (*FollowupsResponse, error) {
	session, err := s.session(ctx, c, sessionID)
	if err != nil {
		return nil, err
	}
	now := s.nowUTC()
	if err := s.usable(session, now); err != nil {
		return nil, err
	}
	open, err := s.o.Store.OpenFollowups(ctx, session.ID, maxFollowups)
	if err != nil {
		return nil, err
	}
	if fresh := undelivered(open); len(fresh) > 0 || now.Sub(session.LastActivity) >= touchAfter {
		if open, err = s.collect(ctx, c, session.ID); err != nil {
			return nil, err
		}
	}
	resp := &FollowupsResponse{Messages: make([]protocol.Followup, 0, len(open))}
	for i := range open {
		f := &open[i]
		history, err := s.o.Store.Messages(ctx, f.SourceID, f.Seq, maxHistory, historyBudget)
		if err != nil {
			return nil, err
		}
		resp.Messages = append(resp.Messages, protocol.Followup{
			ID: f.ID, SourceID: f.SourceID, SourceTitle: f.SourceTitle, Content: f.Content, Timestamp: f.CreatedAt,
			Attachments: f.Attachments, ConversationHistory: showMessages(history),
		})
	}
	return resp, nil
}

// collect reads the messages again under the session's lock, so that exactly those returned are
// marked.
func (s *Service) collect(ctx context.Context, c Caller, sessionID string) (open []Followup, err error) {
	err = s.agentChange(ctx, c, sessionID, func(ctx context.Context, session *Session, now time.Time) error {
		if open, err = s.o.Store.OpenFollowups(ctx, session.ID, maxFollowups); err != nil {
			return err
		}
		fresh := undelivered(open)
		if len(fresh) == 0 {
			return nil
		}
		session.changed(protocol.AgentEventMessage, open[0].SourceID, now)
		return s.o.Store.MarkDelivered(ctx, fresh, now)
	})
	return open, err
}

func undelivered(open []Followup) []string {
	var ids []string
	for i := range open {
		if open[i].DeliveredAt == nil {
			ids = append(ids, open[i].ID)
		}
	}
	return ids
}
