package agenthost

import (
	"context"
	"encoding/json"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

const usualEvents = 100

// Events is what a broker reconciles with: the events of the current epoch after a
// seq, from the first when another epoch was named.
func (h *Host) Events(ctx context.Context, sessionID string, epoch *int64, after int64, limit int) (*protocol.EventsResponse, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	out := &protocol.EventsResponse{
		Epoch: s.state.Record.Cursor.Epoch, Events: []json.RawMessage{}, Status: s.state.Record.Status, OpenTurn: s.state.OpenTurn(),
		QueuedTurns: s.state.QueuedTurns(),
	}
	s.mu.Unlock()
	if epoch != nil && *epoch != out.Epoch {
		after = 0
	}
	if limit <= 0 {
		limit = usualEvents
	}
	after = max(after, 0)
	rows, err := h.opts.Journal.Events(ctx, sessionID, out.Epoch, after, min(limit, protocol.MaxEventsPage))
	if err != nil {
		return nil, err
	}
	out.NextAfter = after
	for i := range rows {
		out.Events = append(out.Events, rows[i].Body)
		out.NextAfter = rows[i].Cursor.Seq
	}
	return out, nil
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
		s.remove()
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

// remove makes the session unknown to the host.
func (s *session) remove() {
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
