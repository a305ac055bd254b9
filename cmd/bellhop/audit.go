package main

import (
	"context"
	"fmt"

	"bellhop/broker"
	"bellhop/internal/app"
	"bellhop/protocol"
)

type auditCommand struct {
	Export auditExportCommand `cmd:"" help:"Print the audit log as JSON lines, the oldest entry first."`
}

type auditExportCommand struct {
	databaseFlags `embed:""`

	From    string `placeholder:"TIME" help:"Only entries from this time on, such as 2026-03-04 or 2026-03-04T05:06:07Z."`
	Until   string `placeholder:"TIME" help:"Only entries before this time."`
	Actor   string `placeholder:"WHO" help:"Only acts of this user (e-mail address or id), or of a kind: user, operator, host, visitor, broker."`
	Action  string `placeholder:"ACT" help:"Only this act, such as host.removed, or a group of acts, such as host."`
	Subject string `placeholder:"WHAT" help:"Only acts on this user, token, host or task (id, name or e-mail address)."`
}

// Help is shown by --help.
func (auditExportCommand) Help() string {
	return "The log has sign-ins, tokens, users, hosts, and who allowed or denied what an agent asked for. " +
		"It holds no passwords, tokens or texts of conversations. The export adds an entry itself." + `

  bellhop audit export > audit.jsonl
  bellhop audit export --from 2026-03-01 --action sign-in.failed
  bellhop audit export --subject ada@example.com`
}

// Run prints one JSON object a line.
func (c auditExportCommand) Run(env *environment) error {
	query := broker.AuditQuery{From: c.From, Until: c.Until, Actor: c.Actor, Action: c.Action, Subject: c.Subject}
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		return admin.Audit.Export(ctx, operatorCaller, query, func(e *protocol.AuditEntry) error {
			line, err := protocol.Marshal(e)
			if err == nil {
				_, err = fmt.Fprintf(env.stdout, "%s\n", line)
			}
			return err
		})
	})
}
