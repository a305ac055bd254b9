package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

var interactions = table.New("interactions",
	table.Text("task_id", func(q *broker.Interaction) *string { return &q.TaskID }).Key(),
	table.Text("id", func(q *broker.Interaction) *string { return &q.ID }).Key(),
	table.Text("turn_id", func(q *broker.Interaction) *string { return &q.TurnID }),
	table.Text("state", func(q *broker.Interaction) *protocol.InteractionState { return &q.State }),
	table.Text("kind", func(q *broker.Interaction) *protocol.InteractionKind { return &q.Kind }),
	table.Text("prompt", func(q *broker.Interaction) *string { return &q.Prompt }),
	table.Text("tool_call_id", func(q *broker.Interaction) *string { return &q.ToolCallID }),
	table.Text("tool_name", func(q *broker.Interaction) *string { return &q.ToolName }),
	table.OptionalTextBytes("args", func(q *broker.Interaction) *json.RawMessage { return &q.Args }),
	table.Text("level", func(q *broker.Interaction) *string { return &q.Level }),
	table.Text("warning", func(q *broker.Interaction) *string { return &q.Warning }),
	table.Text("default_answer", func(q *broker.Interaction) *string { return &q.Default }),
	table.JSONList("options", nil, func(q *broker.Interaction) *[]string { return &q.Options }),
	table.Text("expires_at", func(q *broker.Interaction) *string { return &q.ExpiresAt }),
	table.JSONPointer("answer", nil, func(q *broker.Interaction) **protocol.InteractionAnswer { return &q.Answer }),
	table.Time("created_at", func(q *broker.Interaction) *time.Time { return &q.CreatedAt }).Fixed(),
)

// titledInteractions adds the title of the task to each question.
var titledInteractions = table.New("interactions JOIN tasks ON tasks.id = interactions.task_id",
	append(interactions.Qualified(),
		table.Text("tasks.title", func(q *broker.Interaction) *string { return &q.TaskTitle }))...)

func (s *Store) interactions(ctx context.Context, rest string, args ...any) ([]broker.Interaction, error) {
	return database.Find(ctx, s.db, titledInteractions, "Interactions", "", rest, args...)
}

func (s *Store) TaskInteractions(ctx context.Context, taskID string, ids []string) ([]broker.Interaction, error) {
	return s.interactions(ctx, "WHERE interactions.task_id = ? AND interactions.id IN ?", taskID, ids)
}

func (s *Store) TurnInteractions(ctx context.Context, taskID string, turnIDs []string) ([]broker.Interaction, error) {
	return s.interactions(ctx,
		"WHERE interactions.task_id = ? AND interactions.turn_id IN ? ORDER BY interactions.created_at, interactions.id",
		taskID, turnIDs)
}

func (s *Store) OpenInteractions(ctx context.Context, taskID string) ([]broker.Interaction, error) {
	return s.interactions(ctx, "WHERE interactions.task_id = ? AND interactions.state = 'open'", taskID)
}

// Interactions implements broker.InteractionStore; newest first.
func (s *Store) Interactions(ctx context.Context, userID, state string, limit int) ([]broker.Interaction, error) {
	states := []protocol.InteractionState{protocol.InteractionState(state)}
	if state == "" { // the index is in the order of time within each state only
		states = []protocol.InteractionState{
			protocol.InteractionOpen, protocol.InteractionResolved, protocol.InteractionExpired,
		}
	}
	var all []broker.Interaction
	for _, one := range states {
		found, err := s.interactions(ctx, `WHERE interactions.user_id = ? AND interactions.state = ?
			AND tasks.deleted_at IS NULL ORDER BY interactions.created_at DESC, interactions.id DESC LIMIT ?`,
			userID, string(one), limit)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b broker.Interaction) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	return all[:min(len(all), limit)], nil
}

func (s *Store) Interaction(ctx context.Context, userID, id string) (*broker.Interaction, error) {
	return database.FindOne(ctx, s.db, titledInteractions, "Interaction", id,
		`WHERE tasks.user_id = ? AND tasks.deleted_at IS NULL AND interactions.id = ?
		ORDER BY CASE WHEN interactions.state = 'open' THEN 0 ELSE 1 END, interactions.created_at DESC LIMIT 1`, userID, id)
}
