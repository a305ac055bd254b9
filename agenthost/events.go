package agenthost

import (
	"context"
	"encoding/json"

	"bellhop/protocol"
)

const (
	usualEvents = 100
	maxEvents   = 500
)

// Events is what a broker reconciles with: the events of the current epoch after a
// seq, from the first when another epoch was named.
func (h *Host) Events(ctx context.Context, sessionID string, epoch *int64, after int64, limit int) (*protocol.EventsResponse, error) {
	s, err := h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	out := &protocol.EventsResponse{
		Epoch: s.rec.Cursor.Epoch, Events: []json.RawMessage{}, Status: s.rec.Status, OpenTurn: s.openTurn(),
		QueuedTurns: s.queuedTurns(),
	}
	s.mu.Unlock()
	if epoch != nil && *epoch != out.Epoch {
		after = 0
	}
	if limit <= 0 {
		limit = usualEvents
	}
	after = max(after, 0)
	rows, err := h.opts.Journal.Events(ctx, sessionID, out.Epoch, after, min(limit, maxEvents))
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
	b := s.begin()
	b.w.DropAllTokens = true
	if err := b.commit(); err != nil {
		return err
	}
	s.cutStreams()
	return nil
}

func (s *session) cutStreams() {
	s.stream.Cut()
	for _, q := range s.queue {
		q.fan.Cut()
	}
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
	if s.turn != nil { // begun meanwhile
		s.mu.Unlock()
		return false, &protocol.Error{Code: protocol.CodeBusy, Message: "A turn is open", Hint: "Delete again"}
	}
	project := s.rec.Project
	err = h.opts.Journal.Write(context.WithoutCancel(ctx), &Write{SessionID: s.id, DropSession: true})
	if err == nil {
		s.bury()
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

// bury makes the session unknown.
func (s *session) bury() {
	s.gone = true
	s.durable.Store(false)
	s.cutStreams()
	s.setAnnounced(nil)
	for _, q := range s.queue {
		q.fan.Close()
	}
	s.queue = nil
	stopTimer(&s.idle)
	s.stopRenewal()
	s.outbox.nudge()
	s.host.mu.Lock()
	delete(s.host.sessions, s.id)
	s.host.mu.Unlock()
	dir := s.rec.Dir
	s.host.spawn(func() {
		if !s.host.Occupied(dir) {
			s.host.activity.forget(dir)
		}
	})
}
