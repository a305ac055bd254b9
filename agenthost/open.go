package agenthost

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/crypto/token"
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
		Request: *req, DefaultAgent: h.opts.DefaultAgent, Token: token, TurnKnown: known,
		WebhookExpires: delivery.FreshExpiry(req.WebhookURL, h.opts.Now()),
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
	if err := req.PermissionMode.Check(); err != nil {
		return err
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
		Capabilities: s.host.capabilities(), PermissionMode: s.state.Record.Mode,
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

// streamTokenPrefix makes a leaked token recognizable.
const streamTokenPrefix = "bhs_"

// newToken mints a stream token: its text, and the record that is journaled.
func (s *session) newToken(turn *protocol.AnnouncedTurn, attach bool) (plain string, rec TokenRecord) {
	plain, hash := token.NewOpaque(streamTokenPrefix)
	rec = TokenRecord{Hash: hash, SessionID: s.id, Attach: attach, ExpiresAt: s.host.opts.Now().UTC().Add(s.host.opts.TokenTTL)}
	if turn != nil {
		rec.TurnID = turn.ID
	}
	return plain, rec
}

// Authorize says what a stream token allows: CodeNotFound when there is no such
// session, CodeUnauthorized when the token is unknown, expired or another
// session's. A stream that is attached outlives its token.
func (h *Host) Authorize(ctx context.Context, sessionID, plain string) (Grant, error) {
	if _, err := h.session(sessionID); err != nil {
		return Grant{}, err
	}
	refused := &protocol.Error{
		Code: protocol.CodeUnauthorized, Message: "Invalid or expired token",
		Hint: "Check in or attach again for a fresh token",
	}
	if plain == "" {
		return Grant{}, refused
	}
	rec, err := h.opts.Journal.Token(ctx, token.Hash(plain))
	if protocol.CodeOf(err) == protocol.CodeUnauthorized {
		return Grant{}, refused
	}
	if err != nil {
		return Grant{}, err
	}
	if rec.SessionID != sessionID || !h.opts.Now().Before(rec.ExpiresAt) {
		return Grant{}, refused
	}
	return Grant{SessionID: sessionID, TurnID: rec.TurnID, Attach: rec.Attach}, nil
}

const (
	usualEvents = 100
	// maxPromptsPage bounds the events and prompts of one answer, in bytes.
	maxPromptsPage = 4 << 20
)

// EventsQuery selects a page of a session's events.
type EventsQuery struct {
	Epoch   *int64 // nil is the current one
	After   int64  // a seq of Epoch
	Last    string // the id of the broker's event there
	Limit   int    // 0 is 100
	Prompts bool   // adds the prompts of the turns that begin in the page
}

func (q *EventsQuery) pull() core.Pull {
	return core.Pull{Epoch: q.Epoch, After: q.After, Last: q.Last, Prompts: q.Prompts}
}

// Events is what a broker reconciles with: events of one epoch after a seq. When an
// earlier epoch has no more, it begins with the next one that has; a later epoch than
// the current one begins with the first event of the current one. CodeDiverged: the
// broker must get earlier events first, which the outbox sends.
func (h *Host) Events(ctx context.Context, sessionID string, q EventsQuery) (*protocol.EventsResponse, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	current, begin := s.state.Record.Cursor.Epoch, s.state.Begin(q.pull())
	if err := s.withholds(ctx, q.pull()); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	out := &protocol.EventsResponse{
		SessionID: sessionID, Epoch: current, CurrentEpoch: current, Events: []json.RawMessage{},
		Status: s.state.Record.Status, OpenTurn: s.state.OpenTurn(),
		QueuedTurns: s.state.QueuedTurns(),
	}
	s.mu.Unlock()
	rows, err := h.eventPage(ctx, sessionID, begin, q.Limit)
	if err != nil {
		return nil, err
	}
	if q.Prompts && len(rows) > 0 {
		prompts, err := h.beginnings(ctx, sessionID, rows)
		if err != nil {
			return nil, err
		}
		rows, out.Prompts = delivery.FitPrompts(rows, prompts, maxPromptsPage)
	}
	if q.Epoch == nil || *q.Epoch == current {
		out.NextAfter = max(q.After, 0)
	}
	for i := range rows {
		out.Events = append(out.Events, rows[i].Body)
		out.Epoch, out.NextAfter = rows[i].Cursor.Epoch, rows[i].Cursor.Seq
	}
	return out, nil
}

// withholds returns why a broker does not get the events that it pulls; nil: it does.
// The session's lock is held.
func (s *session) withholds(ctx context.Context, p core.Pull) error {
	if !s.state.MayWithhold(p) {
		return nil
	}
	journal, begin := s.host.opts.Journal, s.state.Begin(p)
	pending, err := journal.Pending(ctx, s.id, s.state.Record.Acked, 1)
	if err != nil {
		return err
	}
	at, err := journal.Pending(ctx, s.id, protocol.Cursor{Epoch: begin.Epoch, Seq: begin.Seq - 1}, 1)
	if err != nil || !s.state.Withholds(p, first(pending), first(at)) {
		return err
	}
	effects{s}.act(core.Post{Nudge: true})
	return &protocol.Error{
		Code: protocol.CodeDiverged, Message: "The session has other events up to there, which are not acknowledged",
		Hint: "Its journal was restored from an older copy; the host posts them first",
	}
}

func first(rows []EventRecord) *EventRecord {
	if len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

// eventPage returns rows of one epoch.
func (h *Host) eventPage(
	ctx context.Context, sessionID string, after protocol.Cursor, limit int,
) ([]EventRecord, error) {
	if limit = min(limit, protocol.MaxEventsPage); limit <= 0 {
		limit = usualEvents
	}
	rows, err := h.opts.Journal.Pending(ctx, sessionID, after, limit)
	for i := range rows {
		if rows[i].Cursor.Epoch != rows[0].Cursor.Epoch {
			return rows[:i], err
		}
	}
	return rows, err
}

// Revoke drops the session's tokens and cuts its streams. An open turn goes on.
func (h *Host) Revoke(_ context.Context, sessionID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.apply(core.TokensRevoked{})
	return err
}

// Delete ends a session for good: its turn, its agent, its journal. worktreeKept
// means that its directory stays, because it holds unfinished work.
func (h *Host) Delete(ctx context.Context, sessionID string) (worktreeKept bool, err error) {
	s, err := h.session(sessionID)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	prompts{s}.dropQueue()
	s.mu.Unlock()
	if err := s.stopTurn(ctx, protocol.ReasonAborted); err != nil {
		return false, err
	}
	s.agent.close()
	s.mu.Lock()
	project := s.state.Record.Project
	if _, err = s.apply(core.Deleted{}); err == nil {
		s.removeLocked()
	}
	s.mu.Unlock()
	if err != nil {
		return false, err
	}
	h.changed()
	if remover, ok := h.opts.Workspaces.(WorkspaceRemover); ok {
		return remover.Remove(ctx, sessionID, project)
	}
	return true, nil
}

// removeLocked makes the session unknown to the host. The session's lock is held.
func (s *session) removeLocked() {
	s.host.mu.Lock()
	delete(s.host.sessions, s.id)
	s.host.mu.Unlock()
	dir := s.state.Record.Dir
	s.host.spawn(func() {
		if !s.host.Occupied(dir) {
			s.host.activity.Forget(dir)
		}
	})
}
