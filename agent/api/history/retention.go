package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"bellhop/internal/wait"
	"bellhop/protocol"
)

// pruneEvery is the time between two checks for sessions that are older than the retention.
const pruneEvery = 10 * time.Minute

// Run deletes sessions that ended longer ago than the retention, until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	wait.Every(ctx, pruneEvery, func(ctx context.Context) {
		if err := s.Prune(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.Error("old histories could not be deleted", "err", err)
		}
	})
	return nil
}

// Prune deletes ended sessions that are older than the retention, and those that ended first
// while all together are over the bound of the size.
func (s *Store) Prune(ctx context.Context) error {
	if s.config.Retention > 0 {
		if _, err := s.remove(ctx, "ended_at < ?", s.config.Held().Add(-s.config.Retention).UnixMilli()); err != nil {
			return err
		}
	}
	for s.isOver() {
		n, err := s.remove(ctx, "id IN (SELECT id FROM sessions WHERE ended_at IS NOT NULL ORDER BY ended_at, id LIMIT 1)")
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}

func (s *Store) isOver() bool { return s.config.MaxBytes > 0 && s.size.Load() > s.config.MaxBytes }

// Room deletes the histories that ended first if there is no room for another turn. If open
// sessions alone are over the bound, the error is CodeStorageFull.
func (s *Store) Room(ctx context.Context) error {
	if !s.isOver() {
		return nil
	}
	if err := s.Prune(ctx); err != nil {
		return err
	}
	if !s.isOver() {
		return nil
	}
	return &protocol.Error{
		Code:    protocol.CodeStorageFull,
		Message: fmt.Sprintf("The histories of the open sessions take more than %d bytes", s.config.MaxBytes),
		Hint:    "End sessions, or start the server with a larger --max-history",
	}
}

// remove deletes sessions with their lines and returns how many there were.
func (s *Store) remove(ctx context.Context, where string, args ...any) (int, error) {
	var sizes []int64
	err := s.db.Write(ctx, func(ctx context.Context) error {
		sizes = nil
		return fault(s.db.Conn(ctx).Raw("DELETE FROM sessions WHERE "+where+" RETURNING bytes", args...).Scan(&sizes).Error)
	})
	if err != nil {
		return 0, err
	}
	for _, n := range sizes {
		s.size.Add(-n)
	}
	return len(sizes), nil
}

// endCrashed ends the sessions that a dead process left open. A turn that was open gets its
// last lines, so that each input of a history has its end.
func (s *Store) endCrashed(ctx context.Context) error {
	open, err := s.query(ctx, "WHERE ended_at IS NULL")
	if err != nil {
		return err
	}
	for _, one := range open {
		lines, err := s.Lines(ctx, one.ID)
		if err == nil && hasOpenTurn(lines) {
			err = s.Append(ctx, one.ID, len(lines), s.lastLines(one.ID))
		}
		if err := errors.Join(err, s.End(ctx, one.ID, EndCrashed)); err != nil {
			return err
		}
	}
	return nil
}

// hasOpenTurn reports whether the newest turn of the lines has no end.
func hasOpenTurn(lines []json.RawMessage) bool {
	open := false
	for _, raw := range lines {
		var line protocol.Line
		_ = json.Unmarshal(raw, &line) // lines are made by protocol.Marshal; quick_check covers the file
		switch {
		case line.Type == protocol.LineInput:
			open = true
		case line.EndsTurn():
			open = false
		}
	}
	return open
}

func (s *Store) lastLines(id string) [][]byte {
	now := strconv.AppendInt(nil, s.config.Now().UnixMilli(), 10)
	var out [][]byte
	for _, line := range []protocol.Line{
		{Type: protocol.LineStatus, Level: "error", Message: "The server was killed during this turn"},
		{Type: protocol.LineState, State: protocol.StateWaitingForInput, Reason: protocol.WaitingInterrupted},
	} {
		line.SessionID, line.Timestamp = id, now
		raw, _ := protocol.Marshal(line) // has only strings
		out = append(out, raw)
	}
	return out
}
