package agenthost

import (
	"context"
	"net/url"
	"regexp"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/protocol"
)

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Open creates or refreshes a session and mints a stream token. It starts no
// program. CodeInvalid: bad request, unknown agent or project; CodeForeignBroker.
func (h *Host) Open(ctx context.Context, req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
	if err := h.checkOpen(req); err != nil {
		return nil, err
	}
	if h.in(draining, stopped) {
		return nil, core.ErrStopping()
	}
	s := h.sessionToOpen(req.SessionID)
	defer s.mu.Unlock()
	if err := s.state.Refuses(req); err != nil {
		return nil, err
	}
	if !s.state.Durable || req.Project != "" && req.Project != s.state.Record.Project {
		if _, _, err := h.opts.Workspaces.Dir(ctx, s.id, req.Project); err != nil {
			return nil, err
		}
	}
	known, err := s.knowsTurn(ctx, req.Turn)
	if err != nil {
		return nil, err
	}
	plain, token := s.newToken(req.Turn, req.Attach)
	in := core.Opened{
		Request: *req, DefaultAgent: h.opts.DefaultAgent, Token: token, TurnKnown: known, WebhookExpires: delivery.Expiry(req.WebhookURL),
	}
	if _, err := s.apply(in); err != nil {
		return nil, err
	}
	return s.opened(plain, token.ExpiresAt), nil
}

// knowsTurn reports whether the journal has a turn that is neither announced nor
// queued nor open.
func (s *session) knowsTurn(ctx context.Context, turn *protocol.AnnouncedTurn) (bool, error) {
	if turn == nil || s.state.Place(turn.ID) != core.PlaceGone {
		return false, nil
	}
	_, err := s.host.opts.Journal.Turn(ctx, s.id, turn.ID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

func (h *Host) checkOpen(req *protocol.OpenSessionRequest) error {
	if req.SessionID == "" || len(req.SessionID) > protocol.MaxSessionID {
		return protocol.Errorf(protocol.CodeInvalid, "sessionId must be 1 to %d characters", protocol.MaxSessionID)
	}
	u, err := url.Parse(req.WebhookURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "webhookUrl must be an http or https URL"}
	}
	if _, ok := h.opts.Providers[req.Agent]; req.Agent != "" && !ok {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host has no such agent",
			Hint: "It has: " + agentNames(h.opts.Providers),
		}
	}
	if c := req.Cursor; c != nil && (c.Epoch < 0 || c.Seq < 0) {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "cursor must not be negative"}
	}
	if t := req.Turn; t != nil {
		if t.ID == "" || len(t.ID) > protocol.MaxTurnID {
			return protocol.Errorf(protocol.CodeInvalid, "turn.id must be 1 to %d characters", protocol.MaxTurnID)
		}
		if t.PromptSHA256 != "" && !sha256Form.MatchString(t.PromptSHA256) {
			return &protocol.Error{Code: protocol.CodeInvalid, Message: "turn.promptSha256 must be 64 lower-case hex digits"}
		}
	}
	return nil
}

func (s *session) opened(token string, expires time.Time) *protocol.OpenSessionResponse {
	cursor := s.state.Record.Cursor
	out := &protocol.OpenSessionResponse{
		Token: token, ExpiresAt: &expires, Cursor: &cursor,
		Status: s.state.Record.Status, Reason: s.state.Record.Reason, OpenTurn: s.state.OpenTurn(), QueuedTurns: s.state.QueuedTurns(),
		Capabilities: s.host.capabilities(),
	}
	if t := s.state.Turn; t != nil {
		before := t.Before.String()
		out.StreamCursor = &before
	}
	if base := s.host.opts.PublicURL; base != "" {
		out.StreamURL = base + "/stream/" + url.PathEscape(s.id)
	}
	return out
}
