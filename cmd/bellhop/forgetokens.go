package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"bellhop/internal/app"
	"bellhop/protocol"
)

type forgeTokensCommand struct {
	Add    forgeTokensAddCommand    `cmd:"" help:"Store a user's own token for a forge, in place of an earlier one."`
	List   forgeTokensListCommand   `cmd:"" help:"List a user's tokens for forges."`
	Remove forgeTokensRemoveCommand `cmd:"" help:"Remove a user's token for a forge."`
}

type forgeTokensAddCommand struct {
	userFlags `embed:""`

	Forge     string `required:"" help:"Host name of the forge in the addresses of remotes, such as github.com."`
	Kind      string `enum:",github,gitlab,gitea" default:"" help:"Whose API the forge has: github, gitlab or gitea; known for public forges."`
	TokenFile string `name:"token-file" default:"-" help:"File with the token, or - for stdin."`
}

// Help is shown by --help.
func (forgeTokensAddCommand) Help() string {
	return `Agent hosts use the token in place of theirs for this user's pushes, fetches and pull requests. The token is read from
stdin or a file, so that it is in no process list:

  bellhop forge-tokens add --email ada@example.org --forge github.com < token`
}

// Run prints the id of the token.
func (c forgeTokensAddCommand) Run(env *environment) error {
	token, err := c.read(env)
	if err != nil {
		return err
	}
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		added, err := admin.Forge.Add(ctx, user.ID, &protocol.ForgeCredential{
			Forge: c.Forge, Kind: protocol.ForgeKind(c.Kind), Token: token,
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, added.ID)
		return err
	})
}

// read returns the token, cut where it is too long for one.
func (c forgeTokensAddCommand) read(env *environment) (string, error) {
	from := env.stdin
	if c.TokenFile != "-" {
		file, err := os.Open(c.TokenFile)
		if err != nil {
			return "", err
		}
		defer file.Close()
		from = file
	} else if isTerminal(env.stdin) {
		return "", errors.New("forge-tokens add: a terminal shows the token; name a file with --token-file, or pipe it in")
	}
	content, err := io.ReadAll(io.LimitReader(from, 2*protocol.MaxForgeToken))
	return string(content), err
}

type forgeTokensListCommand struct {
	userFlags `embed:""`
}

// Run prints a table, which has no tokens.
func (c forgeTokensListCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		all, err := admin.Forge.List(ctx, user.ID)
		if err != nil {
			return err
		}
		rows := make([][]string, len(all))
		for i := range all {
			t := &all[i]
			rows[i] = []string{t.ID, t.Forge, string(t.Kind), formatTime(&t.CreatedAt), formatTime(t.LastUsedAt)}
		}
		return table(env.stdout, []string{"ID", "FORGE", "KIND", "CREATED", "LAST USED"}, rows)
	})
}

type forgeTokensRemoveCommand struct {
	userFlags `embed:""`

	ID string `arg:"" help:"Id of the token, from 'bellhop forge-tokens list'."`
}

// Run prints "removed" and the token's id.
func (c forgeTokensRemoveCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		if err := admin.Forge.Remove(ctx, user.ID, c.ID); err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, "removed", c.ID)
		return err
	})
}
