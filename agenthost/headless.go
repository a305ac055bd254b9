package agenthost

import (
	"cmp"
	"context"
	"slices"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// maxInstructions bounds what goes before a session's first prompt, in bytes.
const maxInstructions = 64 << 10

// HeadlessRequest is POST /sessions. With SessionID an existing headless session
// gets another token; its other members are ignored then.
type HeadlessRequest struct {
	SessionID    string `json:"session_id"`
	Instructions string `json:"instructions"` // goes before the first prompt
	Agent        string `json:"agent"`
	Model        string `json:"model"`
	Project      string `json:"project"`
}

// HeadlessResponse answers it.
type HeadlessResponse struct {
	SessionID string    `json:"session_id"`
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"` // to attach; who is attached stays
}

// OpenHeadless opens a session that belongs to no broker, or refreshes the token
// of one. CodeInvalid: unknown agent or project; CodeNotFound, CodeForeignBroker:
// no such headless session.
func (h *Host) OpenHeadless(ctx context.Context, req *HeadlessRequest) (*HeadlessResponse, error) {
	if err := h.checkHeadless(req); err != nil {
		return nil, err
	}
	if h.in(draining, stopped) {
		return nil, core.ErrStopping()
	}
	s := h.sessionToOpen(cmp.Or(req.SessionID, protocol.NewID()))
	defer s.mu.Unlock()
	if !s.state.Durable {
		if _, _, err := h.opts.Workspaces.Dir(ctx, s.id, req.Project); err != nil {
			return nil, err
		}
	}
	plain, token := s.newToken(nil, false)
	in := core.HeadlessOpened{
		Agent: cmp.Or(req.Agent, h.opts.DefaultAgent), Model: req.Model, Project: req.Project, Instructions: req.Instructions, Token: token,
	}
	if _, err := s.apply(in); err != nil {
		return nil, err
	}
	return &HeadlessResponse{SessionID: s.id, Token: plain, ExpiresAt: token.ExpiresAt}, nil
}

func (h *Host) checkHeadless(req *HeadlessRequest) error {
	if _, ok := h.opts.Providers[req.Agent]; req.Agent != "" && !ok {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host has no such agent",
			Hint: "It has: " + agentNames(h.opts.Providers),
		}
	}
	if len(req.Instructions) > maxInstructions {
		return protocol.Errorf(protocol.CodeTooLarge, "instructions may have %d bytes", maxInstructions)
	}
	if req.SessionID == "" {
		return nil
	}
	_, err := h.session(req.SessionID)
	return err
}

// SessionInfo is one session of GET /sessions.
type SessionInfo struct {
	SessionID      string    `json:"session_id"`
	Agent          string    `json:"agent"`
	Project        string    `json:"project"`
	Model          string    `json:"model"`
	State          string    `json:"state"` // idle, busy or waiting for an answer
	OpenQuestions  int       `json:"open_questions"`
	Headless       bool      `json:"headless"` // belongs to no broker
	Clients        int       `json:"clients"`  // of its lines; counted by who serves them
	CreatedAt      time.Time `json:"created_at"`
	LastActivityAt time.Time `json:"last_activity_at"`
}

// Sessions lists the host's sessions, by id.
func (h *Host) Sessions() []SessionInfo {
	all := h.all()
	out := make([]SessionInfo, 0, len(all))
	for _, s := range all {
		out = append(out, s.info())
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return cmp.Compare(a.SessionID, b.SessionID) })
	return out
}

func (s *session) info() SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := SessionInfo{
		SessionID: s.id, Agent: s.state.Record.Agent, Project: s.state.Record.Project, Model: s.state.Record.Model, State: "idle",
		OpenQuestions: len(s.state.Questions), Headless: s.state.Headless(),
		CreatedAt: s.state.Record.CreatedAt, LastActivityAt: s.state.Record.ActiveAt,
	}
	switch {
	case len(s.state.Questions) > 0:
		info.State = protocol.ReasonWaiting
	case s.state.Turn != nil:
		info.State = string(protocol.StatusBusy)
	}
	return info
}

// OwnerGrant is what the holder of the agent password may do with a session: on a
// broker's own sessions only its check-ins start turns.
func (h *Host) OwnerGrant(sessionID string) (Grant, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Grant{SessionID: sessionID, Attach: !s.state.Headless()}, nil
}
