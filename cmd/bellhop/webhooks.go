package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"bellhop/internal/app"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

const maxURL = 8 << 10 // bytes

type webhooksCommand struct {
	Add    webhooksAddCommand    `cmd:"" help:"Add a webhook to a user and print its id and secret. The URL is read from stdin."`
	List   webhooksListCommand   `cmd:"" help:"List a user's webhooks."`
	Rotate webhooksRotateCommand `cmd:"" help:"Replace the secret of a webhook and print the new one. It cannot be shown again."`
}

type webhooksAddCommand struct {
	userFlags `embed:""`

	Format        string   `enum:",ntfy,slack" default:"" placeholder:"SERVICE" help:"'ntfy' for a topic of ntfy, 'slack' for an incoming webhook of Slack. Default: the event as JSON."`
	Events        []string `default:"turn.finished,interaction.opened" placeholder:"EVENT" help:"Which events are sent, comma-separated (${default})."`
	OutboundAllow []string `env:"BELLHOP_OUTBOUND_ALLOW" placeholder:"CIDR" help:"Private addresses that the URL may name, as for 'serve'."`
}

// Help is shown by --help.
func (webhooksAddCommand) Help() string {
	return `The URL of a service may be a secret, so it is read from stdin: bellhop webhooks add --email E --format slack < url`
}

// Run prints the id and the secret, which signs what the webhook gets, in one line.
func (c webhooksAddCommand) Run(env *environment) error {
	allow, err := parseCIDRs("BELLHOP_OUTBOUND_ALLOW", c.OutboundAllow)
	if err != nil {
		return err
	}
	url, err := io.ReadAll(io.LimitReader(env.stdin, maxURL))
	if err != nil {
		return fmt.Errorf("the URL could not be read: %w", err)
	}
	request := outbound.EndpointRequest{
		URL: strings.TrimSpace(string(url)), Format: protocol.WebhookFormat(c.Format),
	}
	for _, event := range c.Events {
		request.Events = append(request.Events, protocol.WebhookEvent(event))
	}
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		id, secret, err := admin.AddWebhook(ctx, user.ID, request, allow)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, id, secret)
		return err
	})
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
				w.ID, w.URL, string(w.Format), strings.Join(events, ","), formatTime(&w.CreatedAt), formatTime(w.DisabledAt),
			})
		}
		return table(env.stdout, []string{"ID", "URL", "FORMAT", "EVENTS", "CREATED", "DISABLED"}, rows)
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
