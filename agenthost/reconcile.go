package agenthost

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/core"
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
			s.see(brokerID, core.IncarnationSeen{ID: incarnation})
		}
	})
}

// see applies in to a session of the broker.
func (s *session) see(brokerID string, in core.IncarnationSeen) {
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
		if r, ok := s.reconcile(req, out); ok {
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

// reconcile does its session's part of Reconcile and counts it.
func (s *session) reconcile(req *protocol.ReconcileRequest, out *protocol.ReconcileResponse) (r receipt, ok bool) {
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

// Bound lists the sessions of a broker after an id, at most limit.
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
		bound, ok := s.bound(brokerID)
		if !ok {
			continue
		}
		if len(out.Sessions) == limit {
			out.NextAfter = out.Sessions[limit-1].SessionID
			break
		}
		out.Sessions = append(out.Sessions, bound)
	}
	return out
}

func (s *session) bound(brokerID string) (protocol.BoundSession, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &s.state.Record
	return protocol.BoundSession{
		SessionID: s.id, Title: rec.Title, Owner: rec.Owner, Agent: rec.Agent, Project: rec.Project,
		Cursor: rec.Cursor, Acknowledged: rec.Acked, CreatedAt: rec.CreatedAt, LastActivityAt: rec.ActiveAt,
	}, rec.BrokerID == brokerID && s.state.Bound() && !s.state.Deleted
}

// beginnings returns the prompts of the turns that begin with one of the events,
// which follow each other in the journal.
func (b Brokers) beginnings(ctx context.Context, sessionID string, events []EventRecord) (map[string]protocol.TurnPrompt, error) {
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
