package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"bellhop/broker"
	"bellhop/internal/app"
	"bellhop/internal/archive"
)

type exportCommand struct {
	databaseFlags `embed:""`

	Email  []string `placeholder:"EMAIL" help:"Only the tasks and notebooks of this user; may be repeated."`
	Output string   `short:"o" placeholder:"FILE" help:"File to write; it must not exist. Default: standard output."`
}

// Help is shown by --help.
func (exportCommand) Help() string {
	return "An archive has JSON lines and a checksum. It holds tasks with their messages and events, and notebooks; " +
		"no passwords, no secrets, no hosts and no accounts. It is read by 'bellhop import' of the same version, also " +
		"into another kind of database. Anyone who has the file can read the conversations." + `

  bellhop export -o bellhop.jsonl
  bellhop export --email ada@example.com | gzip > ada.jsonl.gz`
}

// Run prints what the archive holds on stderr.
func (c exportCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		var users []broker.User
		for _, email := range c.Email {
			user, err := userByEmail(ctx, admin, email)
			if err != nil {
				return err
			}
			users = append(users, *user)
		}
		counts, err := c.write(ctx, env, admin, users)
		if err != nil {
			return err
		}
		return env.printCounts("exported", counts)
	})
}

// write writes the archive to the file or to standard output. After an error there is no file.
func (c exportCommand) write(
	ctx context.Context, env *environment, admin *app.Admin, users []broker.User,
) (archive.Counts, error) {
	if c.Output == "" {
		return admin.Export(ctx, version, users, env.stdout)
	}
	file, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return archive.Counts{}, err
	}
	counts, err := admin.Export(ctx, version, users, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return counts, errors.Join(err, os.Remove(c.Output))
	}
	return counts, nil
}

type importCommand struct {
	databaseFlags `embed:""`

	File string `arg:"" type:"existingfile" help:"Archive that 'bellhop export' wrote."`
	As   string `placeholder:"EMAIL" help:"Give everything to this user. Default: to the users with the addresses in the archive."`
	Host string `placeholder:"HOST" help:"Name or id of the agent host on which the tasks go on. Default: the broker chooses one for a task's next message."`
}

// Help is shown by --help.
func (importCommand) Help() string {
	return "It stores the whole archive or nothing: nothing if the file is damaged or of another version, if a user " +
		"has no account here, or if one of the tasks is here already. Agents begin without memory of what they did, as " +
		"on any new host; queued messages wait until their queue is continued; webhooks of notebooks are set again by " +
		"their agents." + `

  bellhop import bellhop.jsonl --host builder`
}

// Run prints the numbers of the imported rows on stderr.
func (c importCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		var as *broker.User
		var host string
		var err error
		if c.As != "" {
			if as, err = userByEmail(ctx, admin, c.As); err != nil {
				return err
			}
		}
		if c.Host != "" {
			if host, err = hostByName(ctx, admin, c.Host); err != nil {
				return err
			}
		}
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		counts, err := admin.Import(ctx, file, as, host)
		if err != nil {
			return err
		}
		return env.printCounts("imported", counts)
	})
}

func (e *environment) printCounts(what string, c archive.Counts) error {
	_, err := fmt.Fprintf(e.stderr, "%s: users %d, tasks %d, sources of notebooks %d\n", what, c.Users, c.Tasks, c.Sources)
	return err
}
