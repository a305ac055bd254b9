package agenthost

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/access"
	"bellhop/agenthost/core"
	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

const (
	maxBoundPage    = 1000
	maxAcknowledged = 16 // newest acknowledgements in an answer to a broker
)

// Brokers are what a host does for its brokers with all of their sessions at once.
type Brokers struct{ h *Host }

// noteIncarnation notes the incarnation of a broker's database and reports whether it is new.
func (r *registry) noteIncarnation(brokerID, incarnation string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.notified[brokerID] == incarnation
	r.notified[brokerID] = incarnation
	return !known
}

// share has the sessions of a broker compared with an incarnation of its database
// that one of them saw. It does not wait for them.
func (b Brokers) share(brokerID, incarnation string) {
	if !b.h.noteIncarnation(brokerID, incarnation) {
		return
	}
	b.h.spawn(func() {
		for _, s := range b.h.all() {
			boundSession{s}.see(brokerID, core.IncarnationSeen{ID: incarnation})
		}
	})
}

// boundSession is a session as its broker compares and lists it.
type boundSession struct{ *session }

// see applies in if the session belongs to the broker.
func (s boundSession) see(brokerID string, in core.IncarnationSeen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Record.BrokerID == brokerID {
		_, _ = s.apply(in) // it writes nothing
	}
}

// Reconcile has the broker's sessions compared that were not compared with its
// incarnation yet, or with Force all of them. It does not wait for them.
func (b Brokers) Reconcile(_ context.Context, req *protocol.ReconcileRequest) (*protocol.ReconcileResponse, error) {
	if req.BrokerID == "" || req.Incarnation == "" {
		return nil, protocol.Errorf(protocol.CodeInvalid, "brokerId and incarnation are required")
	}
	b.h.noteIncarnation(req.BrokerID, req.Incarnation)
	out := &protocol.ReconcileResponse{Acknowledged: []protocol.SessionCursor{}}
	var receipts []receipt
	for _, s := range b.h.all() {
		if r, ok := (boundSession{s}).reconcile(req, out); ok {
			receipts = append(receipts, r)
		}
	}
	slices.SortFunc(receipts, func(a, b receipt) int { return b.at.Compare(a.at) })
	for _, r := range receipts[:min(len(receipts), maxAcknowledged)] {
		out.Acknowledged = append(out.Acknowledged, r.SessionCursor)
	}
	return out, nil
}

// receipt is what the broker has acknowledged of a session.
type receipt struct {
	protocol.SessionCursor
	at time.Time // when the session changed last
}

// reconcile does the session's part of Reconcile and counts it in out. ok is false if nothing of
// the session is acknowledged.
func (s boundSession) reconcile(req *protocol.ReconcileRequest, out *protocol.ReconcileResponse) (r receipt, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Record.BrokerID != req.BrokerID || !s.state.Bound() || s.state.Deleted {
		return r, false
	}
	force := req.Force && (len(req.Sessions) == 0 || slices.Contains(req.Sessions, s.id))
	if s.state.MustCompare(req.Incarnation, force) {
		_, _ = s.apply(core.IncarnationSeen{ID: req.Incarnation, Force: true}) // it writes nothing
	}
	rec := &s.state.Record
	out.Sessions++
	switch {
	case s.state.Comparing():
		out.Pending++
	case rec.Outbox == OutboxUnknown:
		out.Unknown++
		return r, false
	}
	if rec.Outbox != OutboxStopped {
		out.Unacknowledged += s.state.Pending
	}
	r = receipt{protocol.SessionCursor{SessionID: s.id, Cursor: rec.Acked}, rec.ActiveAt}
	return r, rec.Acked.Seq > 0 && rec.Outbox != OutboxStopped
}

// Bound lists the sessions of a broker after an id, at most limit. It leaves out what only the
// holder of a session's key may read.
func (b Brokers) Bound(brokerID, after string, limit int) *protocol.BoundSessionList {
	if limit <= 0 || limit > maxBoundPage {
		limit = maxBoundPage
	}
	all := b.h.all()
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	out := &protocol.BoundSessionList{Sessions: []protocol.BoundSession{}}
	for _, s := range all {
		if strings.Compare(s.id, after) <= 0 {
			continue
		}
		bound, ok := boundSession{s}.describe(brokerID)
		if !ok {
			continue
		}
		if bound.Keyed {
			bound.Title, bound.Owner = "", ""
		}
		if len(out.Sessions) == limit {
			out.NextAfter = out.Sessions[limit-1].SessionID
			break
		}
		out.Sessions = append(out.Sessions, bound)
	}
	return out
}

// describe returns ok = false if the session is not bound to the broker.
func (s boundSession) describe(brokerID string) (bound protocol.BoundSession, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &s.state.Record
	return protocol.BoundSession{
		SessionID: s.id, Title: rec.Title, Owner: rec.Owner, Agent: rec.Agent, Project: rec.Project,
		Cursor: rec.Cursor, Acknowledged: rec.Acked, CreatedAt: rec.CreatedAt, LastActivityAt: rec.ActiveAt,
		Keyed: rec.KeyHash != "",
	}, rec.BrokerID == brokerID && s.state.Bound() && !s.state.Deleted
}

// BoundSession describes a session to its broker. CodeNotFound: it has none.
func (b Brokers) BoundSession(sessionID string) (*protocol.BoundSession, error) {
	s, err := b.h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	brokerID := s.state.Record.BrokerID
	s.mu.Unlock()
	bound, ok := boundSession{s}.describe(brokerID)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeNotFound, "The session belongs to no broker")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.state.OpenTurn()
	bound.OpenTurn = &open
	return &bound, nil
}

// promptsOf returns the prompts of the turns that begin with one of the events,
// which follow each other in the journal.
func (b Brokers) promptsOf(
	ctx context.Context, sessionID string, events []EventRecord,
) (map[string]protocol.TurnPrompt, error) {
	before, err := b.h.opts.Journal.Newest(ctx, sessionID, events[0].Cursor, 1)
	if err != nil {
		return nil, err
	}
	prompts := map[string]protocol.TurnPrompt{}
	last := ""
	if len(before) > 0 {
		last = before[0].TurnID
	}
	for i := range events {
		turn := events[i].TurnID
		if _, known := prompts[turn]; turn == "" || turn == last || known {
			continue
		}
		last = turn
		prompt, err := b.promptOf(ctx, sessionID, turn)
		if err != nil {
			return nil, err
		}
		if prompt.Text != "" {
			prompts[turn] = prompt
		}
	}
	return prompts, nil
}

// promptOf returns what a turn was asked. Text is "" when that was not kept.
func (b Brokers) promptOf(ctx context.Context, sessionID, turnID string) (protocol.TurnPrompt, error) {
	text, err := b.h.opts.Journal.Prompt(ctx, sessionID, turnID)
	if err != nil || text == "" {
		return protocol.TurnPrompt{}, err
	}
	turn, err := b.h.opts.Journal.Turn(ctx, sessionID, turnID)
	if err != nil {
		return protocol.TurnPrompt{}, err
	}
	return protocol.TurnPrompt{TurnID: turnID, MessageID: turn.MessageID, Text: text, At: turn.Started}, nil
}

// CheckKey returns CodeSessionKey if the session is bound to another key, and nil if it is
// bound to none or does not exist.
func (b Brokers) CheckKey(sessionID, key string) error {
	s, err := b.h.session(sessionID)
	if err != nil {
		return nil // the route itself answers that there is no such session
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.CheckKey(access.KeyHash(key))
}

// ReleaseKey forgets the key that is bound to the session: the next /session may bind another.
func (b Brokers) ReleaseKey(sessionID string) error {
	s, err := b.h.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.apply(core.KeyReleased{})
	return err
}

// HideKeyed removes from a status what only the holder of a session's key may read: the events
// on the dead-letter list.
func (b Brokers) HideKeyed(status *HostStatus) {
	for i := range status.DeadLetters {
		if letter := &status.DeadLetters[i]; protocol.CodeOf(b.CheckKey(letter.SessionID, "")) == protocol.CodeSessionKey {
			letter.Body = ""
		}
	}
}

// RevokeCredentials ends the stream tokens and the streams of credentials, in all sessions of a broker. Turns go
// on. Unknown credentials are no error.
func (b Brokers) RevokeCredentials(
	ctx context.Context, req *protocol.RevokeRequest,
) (*protocol.RevokeResponse, error) {
	switch {
	case req.BrokerID == "" || len(req.BrokerID) > 128:
		return nil, protocol.Errorf(protocol.CodeInvalid, "brokerId must have 1 to 128 characters")
	case len(req.Credentials) == 0 || len(req.Credentials) > protocol.MaxCredentials:
		return nil, protocol.Errorf(protocol.CodeInvalid, "credentials must have 1 to %d entries", protocol.MaxCredentials)
	}
	for _, id := range req.Credentials {
		if id == "" || len(id) > protocol.MaxCredential {
			return nil, protocol.Errorf(protocol.CodeInvalid, "a credential must have 1 to %d bytes", protocol.MaxCredential)
		}
	}
	for _, id := range req.Credentials {
		if err := b.h.opts.Journal.DropTokens(ctx, req.BrokerID, id); err != nil {
			return nil, err
		}
		b.h.credentials.End(stream.Credential{BrokerID: req.BrokerID, ID: id})
	}
	return &protocol.RevokeResponse{Success: true, BrokerID: req.BrokerID}, nil
}

// describeLimit bounds DescribeWorkspaces: git reads the workspaces.
const describeLimit = 2 * time.Second

// DescribeWorkspaces adds the descriptions of the workspaces of a status that describe returns in time.
// Those of sessions that are bound to a key are described for the operator alone.
func (b Brokers) DescribeWorkspaces(
	ctx context.Context, status *HostStatus, operator bool,
	describe func(ctx context.Context, path string) (*WorkspaceDescription, error),
) {
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	for i := range status.Workspaces {
		w := &status.Workspaces[i]
		if !operator && b.hasKeyed(w.Sessions) {
			continue
		}
		found, err := describe(ctx, w.Path)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			w.WorkspaceDescription = found
		}
	}
}

// hasKeyed reports whether one of the sessions is bound to a key.
func (b Brokers) hasKeyed(sessions []string) bool {
	for _, id := range sessions {
		if protocol.CodeOf(b.CheckKey(id, "")) == protocol.CodeSessionKey {
			return true
		}
	}
	return false
}
