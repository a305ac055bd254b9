package main

import (
	"context"
	"fmt"
	"strings"

	"bellhop/internal/app"
)

type webhooksCommand struct {
	List   webhooksListCommand   `cmd:"" help:"List a user's webhooks."`
	Rotate webhooksRotateCommand `cmd:"" help:"Replace the secret of a webhook and print the new one. It cannot be shown again."`
}

type webhooksListCommand struct {
	userFlags `embed:""`
}

// Run prints a table, which has no secrets.
func (c webhooksListCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		webhooks, err := admin.Webhooks(ctx, user.ID)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(webhooks))
		for i := range webhooks {
			w := &webhooks[i]
			events := make([]string, len(w.Events))
			for n, event := range w.Events {
				events[n] = string(event)
			}
			rows = append(rows, []string{
				w.ID, w.URL, strings.Join(events, ","), formatTime(&w.CreatedAt), formatTime(w.DisabledAt),
			})
		}
		return table(env.stdout, []string{"ID", "URL", "EVENTS", "CREATED", "DISABLED"}, rows)
	})
}

type webhooksRotateCommand struct {
	userFlags `embed:""`

	ID string `arg:"" help:"Id of the webhook, from 'bellhop webhooks list'."`
}

// Help is shown by --help.
func (webhooksRotateCommand) Help() string {
	return `For 24 hours every delivery is signed with both secrets, so that the receiver can be changed in between. Give the
new secret to the receiver: the broker does not send it.`
}

// Run prints nothing but the secret, so that the output can be redirected.
func (c webhooksRotateCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		secret, err := admin.RotateWebhook(ctx, user.ID, c.ID)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, secret)
		return err
	})
}
