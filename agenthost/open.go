package agenthost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"bellhop/agenthost/access"
	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/agenthost/stream"
	"bellhop/crypto/token"
	"bellhop/internal/failpoint"
	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// Aliases of package access, which describes them.
type (
	// Workspaces gives sessions their directories.
	Workspaces = access.Workspaces
	// NamedWorkspaces also has workspaces that were created by name.
	NamedWorkspaces = access.NamedWorkspaces
	// BranchedWorkspaces starts sessions from branches.
	BranchedWorkspaces = access.BranchedWorkspaces
	// Keys are the keys that a broker sends with a request.
	Keys = access.Keys
)

var sha256Form = lazyregexp.New(`^[0-9a-f]{64}$`)

// Open creates or refreshes a session and mints a stream token. It starts no
// program. keys are those of the request. CodeInvalid: bad request, unknown
// agent or project; CodeForeignBroker; CodeSessionKey; CodeNoWorkspace; CodeNoBranch; CodeConflict: another check-in was
// later.
func (h *Host) Open(
	ctx context.Context, request *protocol.OpenSessionRequest, keys Keys,
) (*protocol.OpenSessionResponse, error) {
	req := new(*request)
	if err := errors.Join(h.checkOpen(req), keys.Check()); err != nil {
		return nil, err
	}
	if h.in(draining, stopped) {
		return nil, core.ErrStopping()
	}
	s := h.sessionToOpen(req.SessionID)
	defer s.mu.Unlock()
	act := ActOf(ctx)
	hash, ownerHash := access.KeyHash(keys.Session), access.KeyHash(keys.Owner)
	known, err := s.knowsTurn(ctx, req.Turn)
	if err == nil {
		err = s.state.Refuses(req, hash, known)
	}
	if err != nil {
		return nil, err
	}
	if act != nil {
		act.SessionID = req.SessionID
		if err := h.checkLatest(ctx, act); err != nil {
			return nil, err
		}
		act.Status = http.StatusOK
	}
	if err := access.Use(ctx, h.opts.Workspaces, req, ownerHash, h.hasSession); err != nil {
		return nil, err
	}
	if err := access.Make(ctx, h.opts.Workspaces, req, s.state.Record.Project, s.state.Durable); err != nil {
		return nil, err
	}
	plain, token := s.newToken(req.Turn, req.Attach)
	token.Credential = req.Credential
	in := core.Opened{
		Request: *req, DefaultAgent: h.opts.DefaultAgent, Token: token, TurnKnown: known,
		WebhookExpires: delivery.FreshExpiry(req.WebhookURL, h.opts.Now()), KeyHash: hash, OwnerKeyHash: ownerHash, Act: act,
	}
	if _, err := s.apply(in); err != nil {
		return nil, err
	}
	if req.Turn != nil {
		s.traces.Note(ctx, req.Turn.ID)
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
	if err := errors.Join(req.PermissionMode.Check(), access.CheckBranch(req)); err != nil {
		return err
	}
	if c := req.Cursor; c != nil && (c.Epoch < 0 || c.Seq < 0) {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "cursor must not be negative"}
	}
	if req.Credential != "" && (req.BrokerID == "" || len(req.Credential) > protocol.MaxCredential) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Hint: "A broker that names itself may name the sign-in that asks for the token",
			Message: fmt.Sprintf("credential needs brokerId and has at most %d bytes", protocol.MaxCredential),
		}
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
		SessionID: s.id, Token: token, ExpiresAt: &expires, Cursor: &cursor,
		Status: s.state.Record.Status, Reason: s.state.Record.Reason,
		OpenTurn: s.state.OpenTurn(), QueuedTurns: s.state.QueuedTurns(),
		Attached:     s.state.Attached(s.host.opts.Now()),
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

// StreamTokenPrefix begins every stream token, so that a leaked one is recognizable.
const StreamTokenPrefix = "bhs_"

// newToken mints a stream token: its text, and the record that is journaled.
func (s *session) newToken(turn *protocol.AnnouncedTurn, attach bool) (plain string, rec TokenRecord) {
	plain, hash := token.NewOpaque(StreamTokenPrefix)
	rec = TokenRecord{
		Hash: hash, SessionID: s.id, Attach: attach, ExpiresAt: s.host.opts.Now().UTC().Add(s.host.opts.TokenTTL),
	}
	if turn != nil {
		rec.TurnID = turn.ID
	}
	return plain, rec
}

// Authorize returns what a stream token allows: CodeNotFound when there is no such
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
	if rec.SessionID != sessionID && !failpoint.Mutated("foreign-token-accepted") || !h.opts.Now().Before(rec.ExpiresAt) {
		return Grant{}, refused
	}
	return Grant{SessionID: sessionID, TurnID: rec.TurnID, Attach: rec.Attach, Credential: rec.Credential}, nil
}

const (
	defaultEvents = 100
	// maxPromptsPage bounds the events and prompts of one answer, in bytes.
	maxPromptsPage = 4 << 20
)

// EventsQuery selects a page of a session's events.
type EventsQuery struct {
	Epoch   *int64 // nil is the current one
	After   int64  // a seq of Epoch
	Last    string // the id of the event that the broker has at After
	Limit   int    // 0 is 100
	Prompts bool   // adds the prompts of the turns that begin in the page
}

func (q *EventsQuery) pull() core.Pull {
	return core.Pull{Epoch: q.Epoch, After: q.After, Last: q.Last, Prompts: q.Prompts}
}

// Events returns a page of events of one epoch, with which a broker reconciles. If the query's epoch
// has no events after the query's seq, the page is of the next epoch that has events. If the query's
// epoch is above the current one, the page begins with the first event of the current epoch.
// CodeDiverged: the broker must first get earlier events, which the outbox sends.
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
	if announced := s.state.Announced; announced != nil {
		out.AnnouncedTurn = announced.ID
	}
	s.mu.Unlock()
	rows, err := eventPage(ctx, h.opts.Journal, sessionID, begin, q.Limit)
	if err != nil {
		return nil, err
	}
	if q.Prompts && len(rows) > 0 {
		prompts, err := h.promptsOf(ctx, sessionID, rows)
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

// withholds returns an error if a broker must not get the events that it pulls.
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
func eventPage(
	ctx context.Context, journal Journal, sessionID string, after protocol.Cursor, limit int,
) ([]EventRecord, error) {
	if limit = min(limit, protocol.MaxEventsPage); limit <= 0 {
		limit = defaultEvents
	}
	rows, err := journal.Pending(ctx, sessionID, after, limit)
	for i := range rows {
		if rows[i].Cursor.Epoch != rows[0].Cursor.Epoch {
			return rows[:i], err
		}
	}
	return rows, err
}

// Revoke drops the session's tokens and cuts its streams. An open turn continues.
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

// OnlyCopies returns what exists only in the workspaces of a session.
func (h *Host) OnlyCopies(ctx context.Context, sessionID string) (*protocol.OnlyCopies, error) {
	if _, err := h.session(sessionID); err != nil {
		return nil, err
	}
	remover, ok := h.opts.Workspaces.(WorkspaceRemover)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeNotFound, "The host keeps all workspaces")
	}
	return remover.OnlyCopies(ctx, sessionID)
}

// removalLimit is the time that the workspaces of a deleted session have: a large one on a slow disk takes minutes.
const removalLimit = 10 * time.Minute

// Delete ends a session for good: its turn, its agent, its journal. Its directory stays if something exists only there,
// and that is returned, unless confirmed is the id of that list.
func (h *Host) Delete(ctx context.Context, sessionID, confirmed string) (kept *protocol.OnlyCopies, err error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	prompts{s}.dropQueue()
	s.mu.Unlock()
	if _, err := s.stopTurn(ctx, protocol.ReasonAborted); err != nil {
		return nil, err
	}
	s.agent.close()
	h.EndShells(sessionID)
	s.mu.Lock()
	if _, err = s.apply(core.Deleted{}); err == nil {
		s.removeLocked()
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	h.changed()
	if remover, ok := h.opts.Workspaces.(WorkspaceRemover); ok {
		// Nobody can ask for it again, so it does not end with the caller.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalLimit)
		defer cancel()
		return remover.Remove(ctx, sessionID, confirmed)
	}
	return &protocol.OnlyCopies{Items: []protocol.OnlyCopy{{
		Kind: protocol.OnlyUnknown, Name: "The host keeps all workspaces",
	}}}, nil
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

func (h *Host) capabilities() []string {
	all := []string{
		protocol.CapabilityEvents, protocol.CapabilityResume, protocol.CapabilityInteractions, protocol.CapabilitySessionKeys,
		protocol.CapabilityCredentials, protocol.CapabilityNamedAnswers,
	}
	if _, ok := h.opts.Workspaces.(Differ); ok {
		all = append(all, protocol.CapabilityDiff)
	}
	if _, ok := h.opts.Workspaces.(NamedWorkspaces); ok {
		all = append(all, protocol.CapabilityWorkspaces)
	}
	if _, ok := h.opts.Workspaces.(BranchedWorkspaces); ok {
		all = append(all, protocol.CapabilityBranches)
	}
	if _, ok := h.opts.Workspaces.(access.Shipper); ok {
		all = append(all, protocol.CapabilityShip)
	}
	if !h.opts.Password.IsZero() {
		all = append(all, protocol.CapabilitySignatures)
	}
	return all
}

// ErrCredentialEnded is the cause that ends a context of AuthorizeStream when its credential has ended.
var ErrCredentialEnded = stream.ErrCredentialEnded

// AuthorizeStream is Authorize for a stream. The context that it returns ends with the token's
// credential; the caller must call leave when the stream has ended.
func (h *Host) AuthorizeStream(
	ctx context.Context, sessionID, plain string,
) (g Grant, held context.Context, leave func(), err error) {
	if g, err = h.Authorize(ctx, sessionID, plain); err != nil || g.Credential == "" {
		return g, ctx, func() {}, err
	}
	s, err := h.session(sessionID)
	if err != nil {
		return Grant{}, ctx, func() {}, err
	}
	s.mu.Lock()
	of := stream.Credential{BrokerID: s.state.Record.BrokerID, ID: g.Credential}
	s.mu.Unlock()
	held, leave = h.credentials.Add(ctx, of)
	// The credential may have ended before its stream was known.
	if g, err = h.Authorize(ctx, sessionID, plain); err != nil {
		leave()
		return g, ctx, func() {}, err
	}
	return g, held, leave, nil
}
