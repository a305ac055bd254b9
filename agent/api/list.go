package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"bellhop/agent/api/history"
	"bellhop/protocol"
)

// Limits of the ended sessions in one listing.
const (
	defaultEnded = 200
	maxEnded     = 1000
)

// States of a session in a listing.
const (
	stateIdle    = "idle"
	stateBusy    = "busy"
	stateWaiting = "waiting" // for the answer to a question
	stateEnded   = "ended"   // only its history is left
)

type listRequest struct {
	Limit  *int   `query:"limit" json:"-"`
	Before string `query:"before" json:"-"`
}

type listed struct {
	SessionID string    `json:"session_id"`
	Model     string    `json:"model"`
	State     string    `json:"state"`
	Clients   int       `json:"clients"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is null while a client is connected. Of an ended session it is the end of its history.
	ExpiresAt *time.Time `json:"expires_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	EndReason string     `json:"end_reason,omitempty"`
}

type listResponse struct {
	Sessions []listed `json:"sessions"`
	Next     string   `json:"next,omitempty"` // before of the next page of ended sessions
}

// list returns the open sessions, and a page of the ended ones, the newest first. A page that is
// not the first one has only ended sessions.
func (s *Server) list(ctx context.Context, r *listRequest) (*listResponse, error) {
	limit := defaultEnded
	if r.Limit != nil {
		limit = *r.Limit
	}
	if limit < 0 || limit > maxEnded {
		return nil, protocol.Errorf(protocol.CodeInvalid, "limit must be from 0 to %d", maxEnded)
	}
	response := &listResponse{Sessions: []listed{}}
	if r.Before == "" {
		response.Sessions = s.listOpen()
	}
	if s.config.History == nil || limit == 0 {
		return response, nil
	}
	ended, err := s.config.History.Ended(ctx, r.Before, limit+1)
	if err != nil {
		return nil, err
	}
	if len(ended) > limit {
		ended = ended[:limit]
		response.Next = ended[limit-1].ID
	}
	for _, one := range ended {
		response.Sessions = append(response.Sessions, s.listEnded(one))
	}
	return response, nil
}

func (s *Server) listOpen() []listed {
	list := []listed{}
	for _, one := range s.all() {
		status := one.hub.Status()
		l := listed{
			SessionID: one.id, Model: one.model, State: stateIdle, Clients: status.Clients, CreatedAt: one.created.UTC(),
		}
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
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b listed) int { return strings.Compare(a.SessionID, b.SessionID) })
	return list
}

func (s *Server) listEnded(one history.Session) listed {
	l := listed{
		SessionID: one.ID, Model: one.Model, State: stateEnded, CreatedAt: one.CreatedAt,
		EndedAt: &one.EndedAt, EndReason: one.EndReason,
	}
	if kept := s.config.History.Retention(); kept > 0 {
		at := one.EndedAt.Add(kept)
		l.ExpiresAt = &at
	}
	return l
}
