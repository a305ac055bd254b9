package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

const actOf = "Act"

var acts = table.New("acts",
	table.Text("task_id", func(a *broker.ActRow) *string { return &a.TaskID }).Key(),
	table.Text("id", func(a *broker.ActRow) *string { return &a.ID }).Key(),
	table.Bytes("digest", func(a *broker.ActRow) *[]byte { return &a.Digest }),
	table.Time("seen_at", func(a *broker.ActRow) *time.Time { return &a.SeenAt }),
	table.Text("answer", func(a *broker.ActRow) *string { return &a.Answer }),
)

func (s *Store) BeginAct(ctx context.Context, act *broker.ActRow) error {
	added, err := s.db.Exec(ctx, actOf, act.TaskID, `INSERT INTO acts (task_id, id, digest, seen_at, answer)
		VALUES (?, ?, ?, ?, '') ON CONFLICT (task_id, id) DO NOTHING`, act.TaskID, act.ID, act.Digest, act.SeenAt.UTC())
	if err != nil || added > 0 {
		return err
	}
	found, err := database.FindOne(ctx, s.db, acts, actOf, act.TaskID, "WHERE task_id = ? AND id = ?", act.TaskID, act.ID)
	if err == nil {
		*act = *found
	}
	return err
}

func (s *Store) PruneActs(ctx context.Context, before time.Time) (int64, error) {
	return s.db.Exec(ctx, actOf, "", "DELETE FROM acts WHERE seen_at < ?", before.UTC())
}

func (s *Store) FinishAct(ctx context.Context, act *broker.ActRow) (first bool, err error) {
	n, err := s.db.Exec(ctx, actOf, act.TaskID, "UPDATE acts SET answer = ? WHERE task_id = ? AND id = ? AND answer = ''",
		act.Answer, act.TaskID, act.ID)
	return n > 0, err
}
