package agenthost

import (
	"context"
	"encoding/json"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/protocol"
)

const (
	usualEvents = 100
	// maxPromptsPage bounds the events and prompts of one answer, in bytes.
	maxPromptsPage = 4 << 20
)

// EventsQuery selects a page of a session's events.
type EventsQuery struct {
	Epoch   *int64 // nil is the current one
	After   int64  // a seq of Epoch
	Limit   int    // 0 is 100
	Prompts bool   // adds the prompts of the turns that begin in the page
}

// Events is what a broker reconciles with: events of one epoch after a seq. When an
// earlier epoch has no more, it begins with the next one that has; a later epoch than
// the current one begins with the first event of the current one.
func (h *Host) Events(ctx context.Context, sessionID string, q EventsQuery) (*protocol.EventsResponse, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	current := s.state.Record.Cursor.Epoch
	out := &protocol.EventsResponse{
		Epoch: current, CurrentEpoch: current, Events: []json.RawMessage{}, Status: s.state.Record.Status, OpenTurn: s.state.OpenTurn(),
		QueuedTurns: s.state.QueuedTurns(),
	}
	s.mu.Unlock()
	rows, err := h.page(ctx, sessionID, current, q)
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

// page returns rows of one epoch.
func (h *Host) page(ctx context.Context, sessionID string, current int64, q EventsQuery) ([]EventRecord, error) {
	limit := min(q.Limit, protocol.MaxEventsPage)
	if limit <= 0 {
		limit = usualEvents
	}
	after := protocol.Cursor{Epoch: current, Seq: max(q.After, 0)}
	if q.Epoch != nil && *q.Epoch > current {
		after.Seq = 0
	}
	if q.Epoch != nil && *q.Epoch < current {
		after.Epoch = *q.Epoch
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
	s.dropQueue()
	s.mu.Unlock()
	if err := s.stopTurn(ctx, protocol.ReasonAborted); err != nil {
		return false, err
	}
	s.closeAgent()
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
			s.host.activity.forget(dir)
		}
	})
}
