package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

type createRequest struct {
	Instructions string `json:"instructions"`
	Model        string `json:"model"`
}

type createResponse struct {
	SessionID string `json:"session_id"`
	Token     string `json:"token"`
}

func (s *Server) create(ctx context.Context, r *createRequest) (*createResponse, error) {
	one, plain, err := s.open(ctx, r.Model, r.Instructions)
	if err != nil {
		return nil, err
	}
	s.config.Log.Info("session begins", "session", one.id, "model", one.model)
	return &createResponse{SessionID: one.id, Token: plain}, nil
}

type noRequest struct{}

// States of a session in a listing.
const (
	stateIdle    = "idle"
	stateBusy    = "busy"
	stateWaiting = "waiting" // for the answer to a question
)

type listed struct {
	SessionID string     `json:"session_id"`
	Model     string     `json:"model"`
	State     string     `json:"state"`
	Clients   int        `json:"clients"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"` // null while a client is connected
}

type listResponse struct {
	Sessions []listed `json:"sessions"`
}

func (s *Server) list(context.Context, *noRequest) (*listResponse, error) {
	r := &listResponse{Sessions: []listed{}}
	for _, one := range s.all() {
		status := one.hub.Status()
		l := listed{SessionID: one.id, Model: one.model, State: stateIdle, Clients: status.Clients, CreatedAt: one.created.UTC()}
		switch {
		case status.Questions > 0:
			l.State = stateWaiting
		case status.Busy:
			l.State = stateBusy
		}
		if !status.Left.IsZero() {
			at := status.Left.Add(s.config.IdleTimeout).UTC()
			l.ExpiresAt = &at
		}
		r.Sessions = append(r.Sessions, l)
	}
	slices.SortFunc(r.Sessions, func(a, b listed) int { return strings.Compare(a.SessionID, b.SessionID) })
	return r, nil
}

type sessionRequest struct {
	ID string `param:"id" json:"-"`
}

type historyResponse struct {
	SessionID string            `json:"session_id"`
	Lines     []json.RawMessage `json:"lines"`
}

func (s *Server) history(_ context.Context, r *sessionRequest) (*historyResponse, error) {
	one, err := s.find(r.ID)
	if err != nil {
		return nil, err
	}
	return &historyResponse{SessionID: one.id, Lines: one.hub.History()}, nil
}

// remove ends a session at once, including its turn and its clients.
func (s *Server) remove(_ context.Context, r *sessionRequest) (*noRequest, error) {
	s.mu.Lock()
	one, ok := s.sessions[r.ID]
	delete(s.sessions, r.ID)
	s.mu.Unlock()
	if !ok {
		return nil, protocol.Errorf(protocol.CodeNotFound, "No such session")
	}
	one.end(websocket.StatusNormalClosure, "the session has been deleted")
	return nil, nil //nolint:nilnil // 204 has no body
}
