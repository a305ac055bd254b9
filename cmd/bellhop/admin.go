package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"bellhop/broker"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// operatorCaller has administrator rights: these commands need the database and
// the keyset, which already give access to everything.
var operatorCaller = broker.Caller{Admin: true}

// asOperator names the operator as the actor of the acts in ctx.
func asOperator(ctx context.Context) context.Context {
	return broker.WithActor(ctx, protocol.AuditActor{Kind: protocol.AuditByOperator})
}

func (d databaseFlags) withAdmin(env *environment, do func(ctx context.Context, admin *app.Admin) error) error {
	admin, err := app.OpenAdmin(env.ctx, d.config(env))
	if err != nil {
		return err
	}
	return errors.Join(do(asOperator(env.ctx), admin), admin.Close())
}

type tokensCommand struct {
	Create tokensCreateCommand `cmd:"" help:"Create an API token and print it. It cannot be shown again."`
	List   tokensListCommand   `cmd:"" help:"List a user's API tokens."`
	Revoke tokensRevokeCommand `cmd:"" help:"Revoke an API token at once."`
}

type tokensCreateCommand struct {
	databaseFlags `embed:""`

	Email   string        `required:"" help:"E-mail address of the token's owner."`
	Name    string        `required:"" help:"Name of the token, such as what it is used for."`
	Kind    string        `default:"user" enum:"user,agent" help:"Kind of token: 'user' acts as its user, 'agent' reaches only notebooks and /mcp."`
	Agent   string        `placeholder:"IDENTIFIER" help:"The agentIdentifier a token of kind agent is for, such as claude-code."`
	Scopes  []string      `placeholder:"SCOPE" help:"What a token of kind user may be used for, comma-separated: tasks:read, tasks:write, notebooks, hosts, webhooks, admin. Default: everything."`
	Expires time.Duration `default:"2160h" placeholder:"DURATION" help:"Lifetime (${default}), such as 720h."`
	MaxLife time.Duration `env:"BELLHOP_TOKEN_MAX_LIFETIME" default:"8760h" placeholder:"DURATION" help:"Longest lifetime that is allowed (${default}). With 0, --expires=0 creates a token that does not expire."`
}

// Run prints nothing but the token, so that the output can be redirected.
func (c tokensCreateCommand) Run(env *environment) error {
	if c.Expires < 0 || c.MaxLife > 0 && (c.Expires == 0 || c.Expires > c.MaxLife) {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "--expires must be a lifetime of at most " + c.MaxLife.String(),
			Hint: "Set BELLHOP_TOKEN_MAX_LIFETIME here and for 'bellhop serve' to allow a longer one, 0 for no limit.",
		}
	}
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		token := &broker.APIToken{UserID: user.ID, Name: c.Name, Kind: broker.TokenKind(c.Kind), AgentIdentifier: c.Agent}
		for _, scope := range c.Scopes {
			token.Scopes = append(token.Scopes, broker.Scope(scope))
		}
		if c.Expires > 0 {
			expires := time.Now().Add(c.Expires).UTC()
			token.ExpiresAt = &expires
		}
		plain, err := admin.Auth.CreateToken(ctx, token)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, plain)
		return err
	})
}

type tokensListCommand struct {
	databaseFlags `embed:""`

	Email string `required:"" help:"E-mail address of the tokens' owner."`
}

// Run prints a table. The broker stores only hashes of tokens.
func (c tokensListCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		tokens, err := admin.Auth.ListTokens(ctx, user.ID)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(tokens))
		for _, t := range tokens {
			rows = append(rows, []string{
				t.ID, t.Name, string(t.Kind), formatTime(&t.CreatedAt), formatTime(t.ExpiresAt), formatTime(t.LastUsedAt),
				showScopes(&t),
			})
		}
		return table(env.stdout, []string{"ID", "NAME", "KIND", "CREATED", "EXPIRES", "LAST USED", "SCOPES"}, rows)
	})
}

func showScopes(t *broker.APIToken) string {
	names := []string{}
	for _, scope := range t.Scopes {
		names = append(names, string(scope))
	}
	return strings.Join(names, ",")
}

type tokensRevokeCommand struct {
	databaseFlags `embed:""`

	Email string `required:"" help:"E-mail address of the token's owner."`
	ID    string `arg:"" help:"The token's id, from 'bellhop tokens list'."`
}

// Run prints "revoked" and the token's id.
func (c tokensRevokeCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		if err := admin.Auth.DeleteToken(ctx, user.ID, c.ID); err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, "revoked", c.ID)
		return err
	})
}

func userByEmail(ctx context.Context, admin *app.Admin, email string) (*broker.User, error) {
	user, err := admin.Store.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, &protocol.Error{
			Code: protocol.CodeNotFound, Message: "no user has the e-mail address " + email,
			Hint: "Create the user with 'bellhop users add'.",
		}
	}
	return user, err
}

type migrateCommand struct {
	Up     migrateUpCommand     `cmd:"" help:"Apply the missing migrations. 'bellhop serve' does this, too."`
	Status migrateStatusCommand `cmd:"" help:"List the migrations and when they were applied; change nothing."`
}

type migrateUpCommand struct {
	databaseFlags `embed:""`
}

// Run applies missing migrations, then prints all migrations.
func (c migrateUpCommand) Run(env *environment) error {
	return showMigrations(env, c.config(env), app.Migrate)
}

type migrateStatusCommand struct {
	databaseFlags `embed:""`
}

// Run prints the migrations and when they were applied.
func (c migrateStatusCommand) Run(env *environment) error {
	return showMigrations(env, c.config(env), app.MigrationStatus)
}

// schemaLoader is app.Migrate or app.MigrationStatus.
type schemaLoader func(context.Context, app.StoreConfig) (*app.Schema, error)

func showMigrations(env *environment, c app.StoreConfig, load schemaLoader) error {
	schema, err := load(env.ctx, c)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(schema.Migrations))
	for _, m := range schema.Migrations {
		rows = append(rows, []string{fmt.Sprintf("%04d", m.Version), m.Name, formatTime(m.AppliedAt)})
	}
	return table(env.stdout, []string{"VERSION", "NAME", "APPLIED"}, rows)
}

// table prints rows in columns, or "none" if there are no rows.
func table(w io.Writer, head []string, rows [][]string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "none")
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			if i > 0 {
				_, _ = io.WriteString(out, "\t")
			}
			_, _ = io.WriteString(out, strings.Map(spaceForControl, cell))
		}
		_, _ = fmt.Fprintln(out)
	}
	return out.Flush()
}

// spaceForControl replaces control characters: a text that another user chose must neither break a row
// nor control the terminal.
func spaceForControl(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

func formatTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
