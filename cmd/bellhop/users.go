package main

import (
	"context"
	"fmt"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
)

type usersCommand struct {
	Add       usersAddCommand       `cmd:"" help:"Create a user and print their id."`
	List      usersListCommand      `cmd:"" help:"List the users."`
	Password  usersPasswordCommand  `cmd:"" help:"Set a user's password and end their sessions."`
	Disable   usersDisableCommand   `cmd:"" help:"Keep a user from signing in, and end their sessions and API tokens."`
	Enable    usersEnableCommand    `cmd:"" help:"Let a disabled user sign in again."`
	Delete    usersDeleteCommand    `cmd:"" help:"Delete a user with their tasks and notebooks."`
	SignIns   usersSignInsCommand   `cmd:"" name:"sign-ins" help:"List where a user is signed in."`
	EndSignIn usersEndSignInCommand `cmd:"" name:"end-sign-in" help:"Sign a user out in one place."`

	ResetFactor usersResetFactorCommand `cmd:"" name:"reset-second-factor" help:"Remove the second factor of a user who lost it."`
}

type usersAddCommand struct {
	databaseFlags `embed:""`

	Email    string      `required:"" help:"E-mail address to sign in with."`
	Password seal.Secret `name:"password-file" env:"BELLHOP_USER_PASSWORD" secret:"" required:"" placeholder:"FILE" help:"File with the password, - for standard input: at least 8 characters and no common one."`
	Admin    bool        `help:"Allow the user to manage agent hosts."`
}

// Run prints the new user's id.
func (c usersAddCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := admin.Auth.CreateUser(ctx, c.Email, c.Password.Reveal(), c.Admin)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, user.ID)
		return err
	})
}

type usersPasswordCommand struct {
	databaseFlags `embed:""`

	Email    string      `required:"" help:"E-mail address of the user."`
	Password seal.Secret `name:"password-file" env:"BELLHOP_USER_PASSWORD" secret:"" required:"" placeholder:"FILE" help:"File with the password, - for standard input: at least 8 characters and no common one."`
}

// Run prints "changed" and the user's id.
func (c usersPasswordCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		if err := admin.Auth.SetPassword(ctx, user.ID, c.Password.Reveal()); err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, "changed", user.ID)
		return err
	})
}

type usersListCommand struct {
	databaseFlags `embed:""`
}

// usersPage is how many users are read at once.
const usersPage = 500

// Run prints a table.
func (c usersListCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		var rows [][]string
		for after := ""; ; {
			page, err := admin.Auth.Users(ctx, operatorCaller, after, usersPage)
			if err != nil {
				return err
			}
			for i := range page {
				u := &page[i]
				rows = append(rows, []string{
					u.ID, u.Email, yesOrNot(u.Admin), yesOrNot(u.SecondFactor), formatTime(&u.CreatedAt), formatTime(u.DisabledAt),
				})
				after = u.Email
			}
			if len(page) < usersPage {
				return table(env.stdout, []string{"ID", "EMAIL", "ADMIN", "SECOND FACTOR", "CREATED", "DISABLED"}, rows)
			}
		}
	})
}

func yesOrNot(yes bool) string {
	if yes {
		return "yes"
	}
	return "-"
}

type userFlags struct {
	databaseFlags `embed:""`

	Email string `required:"" help:"E-mail address of the user."`
}

// change runs do with the user's id, and prints done and the id.
func (f userFlags) change(
	env *environment, done string, do func(ctx context.Context, admin *app.Admin, id string) error,
) error {
	return f.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, f.Email)
		if err != nil {
			return err
		}
		if err := do(ctx, admin, user.ID); err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, done, user.ID)
		return err
	})
}

type usersDisableCommand struct {
	userFlags `embed:""`
}

// Help is shown by --help.
func (usersDisableCommand) Help() string {
	return `The user's sessions, sign-in links and API tokens end for good, and within seconds open feeds and streams.
Turns of agents that run go on, and tasks stay. The last administrator cannot be disabled.`
}

// Run prints "disabled" and the user's id.
func (c usersDisableCommand) Run(env *environment) error {
	return c.change(env, "disabled", func(ctx context.Context, admin *app.Admin, id string) error {
		_, err := admin.Auth.SetDisabled(ctx, operatorCaller, id, true)
		return err
	})
}

type usersEnableCommand struct {
	userFlags `embed:""`
}

// Run prints "enabled" and the user's id.
func (c usersEnableCommand) Run(env *environment) error {
	return c.change(env, "enabled", func(ctx context.Context, admin *app.Admin, id string) error {
		_, err := admin.Auth.SetDisabled(ctx, operatorCaller, id, false)
		return err
	})
}

type usersDeleteCommand struct {
	userFlags `embed:""`

	Yes bool `required:"" help:"Confirm: what belongs to the user cannot be restored."`
}

// Help is shown by --help.
func (usersDeleteCommand) Help() string {
	return `The user is signed out at once and the e-mail address is free. A running broker then ends the sessions of the
user's tasks on their hosts, and erases notebooks, webhooks and their deliveries. Tasks are erased after 48 hours,
and the user with them: an entry user.erased in the audit log says so. Its other entries keep the user's id. The last
administrator cannot be deleted.`
}

// Run prints "deleted" and the user's id.
func (c usersDeleteCommand) Run(env *environment) error {
	return c.change(env, "deleted", func(ctx context.Context, admin *app.Admin, id string) error {
		return admin.Auth.DeleteUser(ctx, operatorCaller, id)
	})
}

type usersSignInsCommand struct {
	userFlags `embed:""`
}

// Run prints a table.
func (c usersSignInsCommand) Run(env *environment) error {
	return c.withAdmin(env, func(ctx context.Context, admin *app.Admin) error {
		user, err := userByEmail(ctx, admin, c.Email)
		if err != nil {
			return err
		}
		signIns, err := admin.Auth.SignIns(ctx, operatorCaller, user.ID)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(signIns))
		for i := range signIns {
			s := &signIns[i]
			rows = append(rows, []string{s.ID, s.Address, formatTime(&s.BeganAt), formatTime(&s.LastUsedAt), s.UserAgent})
		}
		return table(env.stdout, []string{"ID", "ADDRESS", "BEGAN", "LAST USED", "BROWSER"}, rows)
	})
}

type usersEndSignInCommand struct {
	userFlags `embed:""`

	ID string `arg:"" help:"Id of the sign-in, from 'bellhop users sign-ins'."`
}

// Run prints "ended" and the id of the user.
func (c usersEndSignInCommand) Run(env *environment) error {
	return c.change(env, "ended", func(ctx context.Context, admin *app.Admin, id string) error {
		return admin.Auth.EndSignIn(ctx, operatorCaller, id, c.ID)
	})
}

type usersResetFactorCommand struct {
	userFlags `embed:""`
}

// Help is shown by --help.
func (usersResetFactorCommand) Help() string {
	return `The password alone signs the user in again, so make sure who asks for it. The user turns a new second factor on in the
settings of the console. Their sessions and API tokens stay: if the device was stolen, use 'bellhop users password', too.`
}

// Run prints "reset" and the user's id.
func (c usersResetFactorCommand) Run(env *environment) error {
	return c.change(env, "reset", func(ctx context.Context, admin *app.Admin, id string) error {
		return admin.Auth.ResetSecondFactor(ctx, operatorCaller, id)
	})
}
