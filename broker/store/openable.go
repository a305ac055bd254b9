package store

import (
	"context"
	"slices"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// openableRow is a task with its host and the sealed columns of both.
type openableRow struct {
	task          broker.Task
	host          sealedHost // zero for a task with a URL of its own
	passwords     sealedPasswords
	webhookSecret []byte
}

// openables reads what a check-in needs in one query. It has only those columns of the host
// that a broker.Target is built from.
var openables = table.New("tasks LEFT JOIN hosts ON hosts.id = tasks.host_id", slices.Concat(
	table.Lift(tasks.Qualified(), func(r *openableRow) *broker.Task { return &r.task }),
	table.Lift(taskPasswords.Qualified(), func(r *openableRow) *sealedPasswords { return &r.passwords }),
	[]table.Column[openableRow]{
		table.Bytes("tasks.webhook_secret", func(r *openableRow) *[]byte { return &r.webhookSecret }),
		table.OptionalText("hosts.id", func(r *openableRow) *string { return &r.host.ID }),
		table.OptionalText("hosts.url", func(r *openableRow) *string { return &r.host.URL }),
		table.OptionalText("hosts.reach", func(r *openableRow) *protocol.Reach { return &r.host.Reach }),
		table.Bytes("hosts.password", func(r *openableRow) *[]byte { return &r.host.password }),
		table.Bytes("hosts.previous_password", func(r *openableRow) *[]byte { return &r.host.previousPassword }),
		table.OptionalTime("hosts.previous_until", func(r *openableRow) **time.Time { return &r.host.PreviousUntil }),
	})...)

func (s *Store) OpenableTask(ctx context.Context, userID, id string, now time.Time) (*broker.OpenableTask, error) {
	row, err := database.FindOne(ctx, s.db, openables, "Task", id,
		"WHERE tasks.id = ? AND tasks.user_id = ? AND tasks.deleted_at IS NULL", id, userID)
	if err != nil {
		return nil, err
	}
	found := &broker.OpenableTask{Task: row.task}
	if row.host.ID != "" {
		found.Host, err = s.openHost(&row.host)
	} else {
		found.Passwords, err = s.openPasswords(id, &row.passwords, now)
	}
	if err != nil {
		return nil, err
	}
	found.WebhookSecret, err = s.open("tasks", "webhook_secret", id, row.webhookSecret)
	return found, err
}
