package notebook

import (
	"context"
	"time"

	"bellhop/protocol"
)

// AskRequest is a user's message about a source.
type AskRequest struct {
	Content     string                        `json:"content"`
	Attachments []protocol.FollowupAttachment `json:"attachments,omitempty"`
}

// MessageResponse has one message.
type MessageResponse struct {
	Message protocol.FollowupMessage `json:"message"`
}

// Conversation returns the newest messages about a source and marks the agent's messages as
// read.
func (s *Service) Conversation(ctx context.Context, userID, sourceID string) (*protocol.Conversation, error) {
	var resp *protocol.Conversation
	unread := false
	err := s.o.Store.Read(ctx, func(ctx context.Context) error {
		source, err := s.o.Store.Source(ctx, userID, sourceID)
		if err != nil {
			return err
		}
		messages, err := s.o.Store.Messages(ctx, sourceID, 0, maxMessages, messageBudget)
		if err != nil {
			return err
		}
		for i := range messages {
			unread = unread || messages[i].Role == protocol.FollowupAgent && messages[i].ReadAt == nil
		}
		resp = &protocol.Conversation{
			SourceID: source.ID, AgentSessionID: source.SessionID, LastMessageAt: source.LastMessageAt, Messages: showMessages(messages),
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if unread {
		if err := s.markRead(ctx, userID, resp); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

func (s *Service) markRead(ctx context.Context, userID string, shown *protocol.Conversation) error {
	return s.change(ctx, userID, shown.AgentSessionID, func(ctx context.Context, session *Session, now time.Time) error {
		n, err := s.o.Store.MarkRead(ctx, shown.SourceID, now)
		if err == nil && n > 0 {
			session.changed(protocol.AgentEventMessage, shown.SourceID, now)
		}
		return err
	})
}

// Ask adds the user's message to a conversation and enqueues it for the agent's webhook. Both
// happen in one transaction, so that no message is without its delivery.
func (s *Service) Ask(ctx context.Context, userID, sourceID string, r *AskRequest) (*MessageResponse, error) {
	var bad check
	bad.text("content", r.Content, true, maxContent)
	bad.attachments(r.Attachments)
	if bad.err != nil {
		return nil, bad.err
	}
	source, err := s.o.Store.Source(ctx, userID, sourceID)
	if err != nil {
		return nil, err
	}
	var resp *MessageResponse
	err = s.change(ctx, userID, source.SessionID, func(ctx context.Context, session *Session, now time.Time) error {
		if err := s.usable(session, now); err != nil {
			return err
		}
		source, err := s.o.Store.Source(ctx, userID, sourceID)
		if err != nil {
			return err
		}
		source.LastSeq++
		source.LastMessageAt = &now
		m := &Message{
			ID: protocol.NewID(), SourceID: source.ID, Seq: source.LastSeq, Role: protocol.FollowupUser, Content: r.Content,
			Attachments: r.Attachments, State: Pending, CreatedAt: now,
		}
		if err := s.o.Store.InsertMessage(ctx, m); err != nil {
			return err
		}
		if err := s.o.Store.SaveSource(ctx, source); err != nil {
			return err
		}
		session.changed(protocol.AgentEventMessage, source.ID, now)
		resp = &MessageResponse{Message: showMessage(m)}
		return s.enqueue(ctx, session, m)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (s *Service) enqueue(ctx context.Context, session *Session, m *Message) error {
	if s.o.Outbox == nil || session.EndpointID == "" {
		return nil
	}
	return s.o.Outbox.Enqueue(ctx, Outgoing{EndpointID: session.EndpointID, MessageID: m.ID, SourceID: m.SourceID})
}

// SessionsResponse has a user's agent sessions, newest first.
type SessionsResponse struct {
	AgentSessions []protocol.AgentSession `json:"agentSessions"`
}

// SessionResponse has one agent session.
type SessionResponse struct {
	AgentSession protocol.AgentSession `json:"agentSession"`
}

// Sessions lists a user's agent sessions.
func (s *Service) Sessions(ctx context.Context, userID string) (*SessionsResponse, error) {
	sessions, err := s.o.Store.Sessions(ctx, userID, "")
	if err != nil {
		return nil, err
	}
	now := s.nowUTC()
	resp := &SessionsResponse{AgentSessions: make([]protocol.AgentSession, len(sessions))}
	for i := range sessions {
		resp.AgentSessions[i] = s.showSession(&sessions[i], now)
	}
	return resp, nil
}

// Disconnect ends an agent session: its sources stay readable, and nothing more is sent to its
// webhook. It is idempotent.
func (s *Service) Disconnect(ctx context.Context, userID, id string) (*SessionResponse, error) {
	return s.reconnect(ctx, userID, id, func(ctx context.Context, session *Session, now time.Time) error {
		if session.Disconnected {
			return nil
		}
		session.Disconnected = true
		session.changed(protocol.AgentEventDisconnected, "", now)
		if s.o.Outbox == nil || session.EndpointID == "" {
			return nil
		}
		return s.o.Outbox.Disable(ctx, userID, session.EndpointID, "disconnected")
	})
}

// Renew makes an expired or disconnected agent session active again. It is
// idempotent.
func (s *Service) Renew(ctx context.Context, userID, id string) (*SessionResponse, error) {
	return s.reconnect(ctx, userID, id, func(ctx context.Context, session *Session, now time.Time) error {
		if session.Status(now, s.lifetime()) != protocol.AgentActive {
			session.changed(protocol.AgentEventConnected, "", now)
		}
		closed := session.Disconnected
		session.Disconnected, session.LastActivity = false, now
		if !closed || s.o.Outbox == nil || session.EndpointID == "" {
			return nil
		}
		return s.o.Outbox.Enable(ctx, userID, session.EndpointID)
	})
}

func (s *Service) reconnect(ctx context.Context, userID, id string, fn sessionChange) (*SessionResponse, error) {
	var resp *SessionResponse
	err := s.change(ctx, userID, id, func(ctx context.Context, session *Session, now time.Time) error {
		if err := fn(ctx, session, now); err != nil {
			return err
		}
		resp = &SessionResponse{AgentSession: s.showSession(session, now)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
