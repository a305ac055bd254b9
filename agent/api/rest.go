package api

import (
	"context"
	"encoding/json"

	"bellhop/agent/api/history"
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
	one, plain := s.newSession(protocol.NewID())
	if err := s.open(ctx, one, r.Model, r.Instructions); err != nil {
		return nil, err
	}
	return &createResponse{SessionID: one.id, Token: plain}, nil
}

type noResponse struct{}

type sessionRequest struct {
	ID string `param:"id" json:"-"`
}

type historyResponse struct {
	SessionID string            `json:"session_id"`
	Lines     []json.RawMessage `json:"lines"`
}

// history returns the lines of a session, open or ended.
func (s *Server) history(ctx context.Context, r *sessionRequest) (*historyResponse, error) {
	if one, err := s.find(r.ID); err == nil {
		return &historyResponse{SessionID: one.id, Lines: one.hub.History()}, nil
	}
	kept, err := s.stored(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	lines, err := s.config.History.Lines(ctx, kept.ID)
	return &historyResponse{SessionID: kept.ID, Lines: lines}, err
}

// stored returns a session of the history; an unknown id is CodeNotFound.
func (s *Server) stored(ctx context.Context, id string) (history.Session, error) {
	if s.config.History == nil {
		return history.Session{}, protocol.Errorf(protocol.CodeNotFound, "No such session")
	}
	return s.config.History.Find(ctx, id)
}

type removeRequest struct {
	ID      string `param:"id" json:"-"`
	History string `query:"history" json:"-"`
}

// remove ends a session at once, including its turn and its clients, and deletes its history.
// With history=keep the history stays. A session that has ended already has only its history.
func (s *Server) remove(ctx context.Context, r *removeRequest) (*noResponse, error) {
	keeps := r.History == "keep"
	switch {
	case r.History != "" && !keeps:
		return nil, protocol.Errorf(protocol.CodeInvalid, "history must be \"keep\" or absent")
	case keeps && s.config.History == nil:
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This server keeps no histories", Hint: "Start it with --data DIR",
		}
	}
	s.mu.Lock()
	one, ok := s.sessions[r.ID]
	delete(s.sessions, r.ID)
	s.mu.Unlock()
	if ok {
		one.end(endDeleted)
	} else if _, err := s.stored(ctx, r.ID); err != nil {
		return nil, err
	}
	if keeps || s.config.History == nil {
		return nil, nil //nolint:nilnil // 204 has no body
	}
	err := s.config.History.Delete(ctx, r.ID)
	if ok && protocol.CodeOf(err) == protocol.CodeNotFound { // a session without lines leaves nothing
		err = nil
	}
	return nil, err
}
