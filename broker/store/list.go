package store

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// Lists of tasks are in the order of their times. On PostgreSQL the indexes have the times in slots (see
// migration "lists"): a list reads slot after slot, and sorts the rows of one slot.

const slotSeconds = 64

// slotOf returns the slot of a time.
func slotOf(t time.Time) int64 {
	seconds := t.Unix()
	if seconds < 0 {
		seconds -= slotSeconds - 1
	}
	return seconds / slotSeconds
}

func (s *Store) Tasks(ctx context.Context, userID string, f broker.TaskFilter) ([]broker.Task, error) {
	if f.Q != "" {
		return s.search(ctx, userID, f)
	}
	return s.eachArchived(f, func(archived bool) ([]broker.Task, error) {
		return s.listedOf(ctx, userID, archived, f, condition{})
	})
}

// eachArchived merges the page of archived tasks and that of the others, or returns the one that the filter names.
// The index is in the order of time within each of the two only.
func (s *Store) eachArchived(
	f broker.TaskFilter, page func(archived bool) ([]broker.Task, error),
) ([]broker.Task, error) {
	if f.Archived != nil {
		return page(*f.Archived)
	}
	active, err := page(false)
	if err != nil {
		return nil, err
	}
	archived, err := page(true)
	if len(archived) == 0 || err != nil {
		return active, err
	}
	all := slices.Concat(active, archived)
	slices.SortFunc(all, func(a, b broker.Task) int {
		if order := b.LastActivityAt.Compare(a.LastActivityAt); order != 0 {
			return order
		}
		return strings.Compare(b.ID, a.ID)
	})
	return all[:min(len(all), f.Limit)], nil
}

// condition selects tasks; the zero value selects all.
type condition struct {
	sql  string
	args []any
	few  bool // so few that they are read before they are put in order
}

// listedOf returns a page of a user's archived tasks or of the others.
func (s *Store) listedOf(
	ctx context.Context, userID string, archived bool, f broker.TaskFilter, which condition,
) ([]broker.Task, error) {
	where, order := "WHERE user_id = ?", " ORDER BY last_activity_at DESC, id DESC LIMIT ?"
	switch {
	case s.postgres():
		order = " ORDER BY active_slot DESC, last_activity_at DESC, id DESC LIMIT ?"
	case which.few: // SQLite does not know how few there are, so it may not choose the index of the list
		where, order = "WHERE +user_id = ?", " ORDER BY +last_activity_at DESC, id DESC LIMIT ?"
	}
	where += " AND archived = ? AND deleted_at IS NULL"
	values := []any{userID, archived}
	if f.Before != nil {
		at := f.Before.At.UTC()
		if s.postgres() {
			where, values = where+" AND active_slot <= ?", append(values, slotOf(at))
		}
		where += " AND (last_activity_at, id) < (?, ?)"
		values = append(values, at, f.Before.ID)
	}
	if f.State != "" { // the index has only tasks with a state: the second condition lets the planner use it
		where, values = where+" AND state = ? AND state <> ''", append(values, string(f.State))
	}
	if f.State == broker.TaskFailed { // the state of a quiet task is that of its last turn, while another is open
		where += " AND open_turn = ''"
	}
	if which.sql != "" {
		where, values = where+" AND "+which.sql, append(values, which.args...)
	}
	return database.Find(ctx, s.db, tasks, "Tasks of user", userID, where+order, append(values, f.Limit)...)
}

// numbered is a condition that a column has one of some values. Its parameter is what numbers returns for them.
func (s *Store) numbered(column string) string {
	if s.postgres() {
		return column + " = ANY(?::bigint[])"
	}
	return column + " IN (SELECT value FROM json_each(?))"
}

func (s *Store) numbers(values []int64) any {
	slices.Sort(values)
	values = slices.Compact(values)
	if !s.postgres() {
		encoded, err := json.Marshal(values)
		if err != nil {
			panic(err) // numbers can always be encoded
		}
		return string(encoded)
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = strconv.FormatInt(v, 10)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// hints has the columns of a task that the feed of a user shows.
var hints = table.New("tasks",
	table.Text("id", func(h *broker.UserHint) *string { return &h.TaskID }),
	table.Text("user_id", func(h *broker.UserHint) *string { return &h.UserID }),
	table.Integer("rev", func(h *broker.UserHint) *int64 { return &h.Rev }),
	table.Text("agent_status", func(h *broker.UserHint) *protocol.Status { return &h.AgentStatus }),
	table.Text("reason", func(h *broker.UserHint) *string { return &h.Reason }),
	table.Integer("open_questions", func(h *broker.UserHint) *int { return &h.OpenInteractions }),
	table.Time("changed_at", func(h *broker.UserHint) *time.Time { return &h.ChangedAt }),
)

func (s *Store) Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error) {
	order := " ORDER BY changed_at DESC, id DESC LIMIT ?"
	if s.postgres() {
		order = " ORDER BY changed_slot DESC, changed_at DESC, id DESC LIMIT ?"
	}
	found, err := database.Find(ctx, s.db, hints, "Hints of user", userID,
		"WHERE user_id = ? AND deleted_at IS NULL"+order, userID, limit)
	if err != nil {
		return nil, err
	}
	list := make([]protocol.TaskHint, len(found))
	for i := range found {
		list[i] = found[i].TaskHint
	}
	return list, nil
}

func (s *Store) HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]broker.UserHint, error) {
	where, args := "WHERE "+s.db.In("user_id")+" AND changed_at >= ?", []any{s.db.Texts(userIDs), since.UTC()}
	if s.postgres() {
		where, args = where+" AND changed_slot >= ?", append(args, slotOf(since))
	}
	return database.Find(ctx, s.db, hints, "Hints", "", where+" ORDER BY changed_at, id", args...)
}
