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

// Conversation returns the newest messages about a source. It marks none as read: MarkRead
// does.
func (s *Service) Conversation(ctx context.Context, userID, sourceID string) (*protocol.Conversation, error) {
	var resp *protocol.Conversation
	err := s.o.Store.Read(ctx, func(ctx context.Context) error {
		source, err := s.o.Store.Source(ctx, userID, sourceID)
		if err != nil {
			return err
		}
		messages, err := s.o.Store.Messages(ctx, sourceID, 0, maxMessages, messageBudget)
		if err != nil {
			return err
		}
		resp = &protocol.Conversation{
			SourceID: source.ID, NotebookID: source.NotebookID, UserID: source.UserID,
			AgentSessionID: source.SessionID, LastMessageAt: source.LastMessageAt,
			Messages: showMessages(messages),
		}
		return s.addProgress(ctx, userID, source.SessionID, messages, resp.Messages)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// addProgress describes the messages that are on their way to the agent's webhook.
func (s *Service) addProgress(
	ctx context.Context, userID, sessionID string, messages []Message, shown []protocol.FollowupMessage,
) error {
	var pending []string
	for i := range messages {
		if messages[i].State == Pending {
			pending = append(pending, messages[i].ID)
		}
	}
	if len(pending) == 0 || s.o.Outbox == nil {
		return nil
	}
	session, err := s.o.Store.Session(ctx, userID, sessionID)
	if err != nil || session.EndpointID == "" {
		return err
	}
	progress, err := s.o.Outbox.Progress(ctx, userID, session.EndpointID, pending)
	for i := range shown {
		if p, found := progress[shown[i].ID]; found {
			shown[i].Metadata.Progress = &p
		}
	}
	return err
}

// ReadRequest names the last message that the user's page has shown.
type ReadRequest struct {
	MessageID string `json:"messageId"`
}

// MarkRead marks as read what the user's page has shown: the agent's messages and the failures
// up to a message. It is idempotent.
func (s *Service) MarkRead(ctx context.Context, userID, sourceID string, r *ReadRequest) error {
	var bad check
	if bad.text("messageId", r.MessageID, true, maxName); bad.err != nil {
		return bad.err
	}
	source, err := s.o.Store.Source(ctx, userID, sourceID)
	if err != nil {
		return err
	}
	shown, err := s.o.Store.Message(ctx, userID, r.MessageID)
	if err != nil || shown.SourceID != sourceID {
		return protocol.Errorf(protocol.CodeNotFound, "Message not found")
	}
	return s.change(ctx, userID, source.SessionID, func(ctx context.Context, session *Session, now time.Time) error {
		n, err := s.o.Store.MarkRead(ctx, sourceID, shown.Seq, now)
		if err == nil && n > 0 {
			session.changed(protocol.AgentEventRead, sourceID, now)
		}
		return err
	})
}

// Subjects returns what the messages of deliveries are about.
func (s *Service) Subjects(
	ctx context.Context, userID string, messageIDs []string) (map[string]protocol.DeliverySubject, error,
) {
	if len(messageIDs) == 0 {
		return nil, nil
	}
	found, err := s.o.Store.Subjects(ctx, userID, messageIDs)
	byMessage := make(map[string]protocol.DeliverySubject, len(found))
	for _, subject := range found {
		byMessage[subject.MessageID] = subject.DeliverySubject
	}
	return byMessage, err
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
	notebooks, err := s.o.Store.Notebooks(ctx, userID)
	if err != nil {
		return nil, err
	}
	bySession := byID(notebooks, func(n *Notebook) string { return n.SessionID })
	now := s.nowUTC()
	resp := &SessionsResponse{AgentSessions: make([]protocol.AgentSession, len(sessions))}
	for i := range sessions {
		notebookID := ""
		if n := bySession[sessions[i].ID]; n != nil {
			notebookID = n.ID
		}
		resp.AgentSessions[i] = s.showSession(&sessions[i], notebookID, now)
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
		shown, err := s.sessionWithNotebook(ctx, session, now)
		resp = &SessionResponse{AgentSession: shown}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// sessionWithNotebook shows a session with the id of its notebook, if it has one.
func (s *Service) sessionWithNotebook(
	ctx context.Context, session *Session, now time.Time) (protocol.AgentSession, error,
) {
	notebookID := ""
	n, err := s.o.Store.NotebookOf(ctx, session.UserID, session.ID)
	if err == nil {
		notebookID = n.ID
	}
	return s.showSession(session, notebookID, now), ignoreMissing(err)
}
