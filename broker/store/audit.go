package store

import (
	"context"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// auditLog is what an act writes. The database gives each entry its number.
var auditLog = table.New("audit_log",
	table.Time("at", func(e *protocol.AuditEntry) *time.Time { return &e.At }),
	table.Text("action", func(e *protocol.AuditEntry) *protocol.AuditAction { return &e.Action }),
	table.Text("actor_kind", func(e *protocol.AuditEntry) *protocol.AuditActorKind { return &e.Actor.Kind }),
	table.Text("actor_id", func(e *protocol.AuditEntry) *string { return &e.Actor.ID }),
	table.Text("token_id", func(e *protocol.AuditEntry) *string { return &e.Actor.TokenID }),
	table.Text("address", func(e *protocol.AuditEntry) *string { return &e.Actor.Address }),
	table.Text("via", func(e *protocol.AuditEntry) *string { return &e.Actor.Via }),
	table.Text("subject_kind", func(e *protocol.AuditEntry) *protocol.AuditSubjectKind { return &e.Subject.Kind }),
	table.Text("subject_id", func(e *protocol.AuditEntry) *string { return &e.Subject.ID }),
	table.Text("subject_name", func(e *protocol.AuditEntry) *string { return &e.Subject.Name }),
	table.JSON("detail", func(e *protocol.AuditEntry) *map[string]string { return &e.Detail }),
)

// namedAudit adds the e-mail addresses that users have now. No entry stores one, so that a user
// who is removed leaves no address behind.
var namedAudit = table.New(`audit_log
	LEFT JOIN users actors ON actors.id = audit_log.actor_id
	LEFT JOIN users subjects ON subjects.id = audit_log.subject_id`,
	append(auditLog.Qualified(),
		table.Integer("audit_log.no", func(e *protocol.AuditEntry) *int64 { return &e.No }),
		table.Text("COALESCE(actors.email, '')", func(e *protocol.AuditEntry) *string { return &e.Actor.Email }),
		table.Text("COALESCE(subjects.email, audit_log.subject_name)",
			func(e *protocol.AuditEntry) *string { return &e.Subject.Name }))...)

func (s *Store) AddAudit(ctx context.Context, entries ...protocol.AuditEntry) error {
	return s.db.Run(ctx, "Audit log", "", auditLog.Insert(entries...))
}

func (s *Store) AuditEntries(ctx context.Context, f broker.AuditFilter) ([]protocol.AuditEntry, error) {
	var where []string
	var args []any
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	order := "DESC"
	if f.Before > 0 {
		add("audit_log.no < ?", f.Before)
	} else {
		order = "ASC"
		add("audit_log.no > ?", f.After)
	}
	if f.From != nil {
		add("audit_log.at >= ?", f.From.UTC())
	}
	if f.Until != nil {
		add("audit_log.at < ?", f.Until.UTC())
	}
	// The subquery is computed once, so that indexes find the rows.
	const byEmail = "= (SELECT id FROM users WHERE email = ?)"
	if f.Actor != "" {
		add("(audit_log.actor_id = ? OR audit_log.actor_kind = ? OR audit_log.actor_id "+byEmail+")", f.Actor, f.Actor,
			strings.ToLower(f.Actor))
	}
	if f.Action != "" { // the next character after "." is "/", so this is the group
		add("(audit_log.action = ? OR audit_log.action >= ? AND audit_log.action < ?)", f.Action, f.Action+".", f.Action+"/")
	}
	if f.Subject != "" {
		add("(audit_log.subject_id = ? OR audit_log.subject_name = ? OR audit_log.subject_id "+byEmail+")",
			f.Subject, f.Subject, strings.ToLower(f.Subject))
	}
	return database.Find(ctx, s.db, namedAudit, "Audit log", "",
		"WHERE "+strings.Join(where, " AND ")+" ORDER BY audit_log.no "+order+" LIMIT ?", append(args, f.Limit)...)
}
