package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

func (s *Store) WebhookSecret(ctx context.Context, id string) (seal.Secret, error) {
	var sealed []byte
	err := s.conn(ctx).Raw(`SELECT webhook_secret FROM tasks WHERE id = ?`, id).Row().Scan(&sealed)
	if err != nil {
		return seal.Secret{}, database.Fault(err, "Task", id)
	}
	return s.open("tasks", "webhook_secret", id, sealed)
}

// webhookRow has what the webhook needs of a task and its host, still sealed.
type webhookRow struct {
	secret    []byte
	signs     bool
	url       string // the task's own
	passwords sealedPasswords
	host      sealedHost // zero for a task with a URL of its own
}

var webhookRows = table.New("tasks LEFT JOIN hosts ON hosts.id = tasks.host_id", slices.Concat(
	table.Lift(taskPasswords.Qualified(), func(r *webhookRow) *sealedPasswords { return &r.passwords }),
	[]table.Column[webhookRow]{
		table.Bytes("tasks.webhook_secret", func(r *webhookRow) *[]byte { return &r.secret }),
		table.Bool("tasks.host_signs", func(r *webhookRow) *bool { return &r.signs }),
		table.OptionalText("tasks.agent_url", func(r *webhookRow) *string { return &r.url }),
		table.OptionalText("hosts.id", func(r *webhookRow) *string { return &r.host.ID }),
		table.OptionalText("hosts.url", func(r *webhookRow) *string { return &r.host.URL }),
		table.Bytes("hosts.password", func(r *webhookRow) *[]byte { return &r.host.password }),
		table.Bytes("hosts.previous_password", func(r *webhookRow) *[]byte { return &r.host.previousPassword }),
		table.OptionalTime("hosts.previous_until", func(r *webhookRow) **time.Time { return &r.host.PreviousUntil }),
	})...)

// WebhookKeys opens passwords only of a host that signs.
func (s *Store) WebhookKeys(ctx context.Context, id string, now time.Time) (*broker.WebhookKeys, error) {
	row, err := database.FindOne(ctx, s.db, webhookRows, "Task", id, "WHERE tasks.id = ?", id)
	if err != nil {
		return nil, err
	}
	keys := &broker.WebhookKeys{Signs: row.signs, URL: cmp.Or(row.host.URL, row.url)}
	if keys.Secret, err = s.open("tasks", "webhook_secret", id, row.secret); err != nil || !keys.Signs {
		return keys, err
	}
	if row.host.ID == "" {
		keys.Passwords, err = s.openPasswords(id, &row.passwords, now)
		return keys, err
	}
	host, err := s.openHost(&row.host)
	if err == nil {
		keys.Passwords = host.Passwords(now)
	}
	return keys, err
}

func (s *Store) TaskPasswords(ctx context.Context, id string, now time.Time) ([]seal.Secret, error) {
	row, err := database.FindOne(ctx, s.db, taskPasswords, "Task", id, "WHERE id = ?", id)
	if err != nil {
		return nil, err
	}
	return s.openPasswords(id, row, now)
}

// sealedPasswords are a task's own passwords as stored.
type sealedPasswords struct {
	password, previous []byte
	previousUntil      *time.Time
}

var taskPasswords = table.New("tasks",
	table.Bytes("agent_password", func(p *sealedPasswords) *[]byte { return &p.password }),
	table.Bytes("previous_password", func(p *sealedPasswords) *[]byte { return &p.previous }),
	table.OptionalTime("previous_until", func(p *sealedPasswords) **time.Time { return &p.previousUntil }),
)

// openPasswords returns the passwords that are valid now, newest first.
func (s *Store) openPasswords(id string, row *sealedPasswords, now time.Time) ([]seal.Secret, error) {
	password, err := s.open("tasks", "agent_password", id, row.password)
	if err != nil {
		return nil, err
	}
	var passwords []seal.Secret
	if !password.IsZero() {
		passwords = append(passwords, password)
	}
	if row.previousUntil == nil || !now.Before(*row.previousUntil) {
		return passwords, nil
	}
	previous, err := s.open("tasks", "previous_password", id, row.previous)
	if err != nil || previous.IsZero() {
		return passwords, err
	}
	return append(passwords, previous), nil
}

// SetTaskPassword seals the previous password
// again, because a sealed value can only be opened in its own column.
func (s *Store) SetTaskPassword(ctx context.Context, id string, password seal.Secret, previousUntil time.Time) error {
	sealed, err := s.seal("tasks", "agent_password", id, password)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(ctx context.Context) error {
		var former []byte
		if err := s.conn(ctx).Raw(`SELECT agent_password FROM tasks WHERE id = ?`, id).Row().Scan(&former); err != nil {
			return database.Fault(err, "Task", id)
		}
		var previous []byte
		var until *time.Time
		// A previous password that cannot be opened is dropped, so that it does not
		// prevent the change.
		if old, err := s.open("tasks", "agent_password", id, former); err == nil && !old.IsZero() && !password.IsZero() {
			if previous, err = s.seal("tasks", "previous_password", id, old); err != nil {
				return err
			}
			at := previousUntil.UTC()
			until = &at
		}
		err := s.conn(ctx).Exec(`UPDATE tasks SET agent_password = ?, previous_password = ?, previous_until = ? WHERE id = ?`,
			sealed, previous, until, id).Error
		return database.Fault(err, "Task", id)
	})
}
