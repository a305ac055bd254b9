package main

import (
	"fmt"
	"io"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/reseal"
)

type keysCommand struct {
	Generate keysGenerateCommand `cmd:"" help:"Print a new keyset."`
	Add      keysAddCommand      `cmd:"" help:"Print the keyset with a new key, which does not seal yet."`
	Promote  keysPromoteCommand  `cmd:"" help:"Print the keyset with its newest key as the one that seals."`
	Rotate   keysRotateCommand   `cmd:"" help:"Seal everything in the database with the present key, while brokers serve."`
	Prune    keysPruneCommand    `cmd:"" help:"Print the keyset without the keys that nothing is sealed with."`
}

type keysGenerateCommand struct{}

// Help is shown by --help.
func (keysGenerateCommand) Help() string {
	return `The keyset is one line. Store it where only the broker can read it, and store a copy apart from the database:
without the keyset the secrets in the database cannot be read again.

  bellhop keys generate > keyset && chmod 600 keyset
  BELLHOP_KEYSET_FILE=keyset bellhop serve`
}

// Run prints nothing but the keyset, so that the output can be redirected.
func (keysGenerateCommand) Run(env *environment) error {
	return printKeyset(env.stdout)(seal.Generate())
}

// keysetFlag is the keyset that a command starts from.
type keysetFlag struct {
	Keyset seal.Secret `name:"keyset-file" env:"BELLHOP_KEYSET" secret:"keyset" required:"" placeholder:"FILE" help:"File with the present keyset, - for standard input."`
}

type keysAddCommand struct {
	keysetFlag `embed:""`
}

// Help is shown by --help.
func (keysAddCommand) Help() string {
	return `Start every broker with the new keyset, then continue with 'bellhop keys promote'. Each step is readable by the brokers of
the step before, so brokers are restarted one after the other.

  bellhop keys add > keyset.new && chmod 600 keyset.new`
}

// Run prints nothing but the keyset.
func (c keysAddCommand) Run(env *environment) error {
	return printKeyset(env.stdout)(seal.Add(c.Keyset.Reveal()))
}

type keysPromoteCommand struct {
	keysetFlag `embed:""`
}

// Help is shown by --help.
func (keysPromoteCommand) Help() string {
	return `Every broker must have the keyset of 'bellhop keys add'. Start every broker with the new keyset, then continue with
'bellhop keys rotate'.`
}

// Run prints nothing but the keyset.
func (c keysPromoteCommand) Run(env *environment) error {
	return printKeyset(env.stdout)(seal.Promote(c.Keyset.Reveal()))
}

type keysRotateCommand struct {
	databaseFlags `embed:""`
}

// Help is shown by --help.
func (keysRotateCommand) Help() string {
	return `Every broker must have the keyset of 'bellhop keys promote'. If the command is interrupted, run it again: it continues
where it stopped. 'bellhop keys prune' then removes the former key from the keyset. Backups of the database that are
older still need it.`
}

// Run prints a line for each page of values.
func (c keysRotateCommand) Run(env *environment) error {
	err := app.RotateKeys(asOperator(env.ctx), c.config(env), func(p reseal.Progress) {
		_, _ = fmt.Fprintf(env.stdout, "%s: %d of %d\n", &p.Column, p.Done, p.Total)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, "everything is sealed with the present key")
	return err
}

type keysPruneCommand struct {
	databaseFlags `embed:""`
}

// Run prints nothing but the keyset.
func (c keysPruneCommand) Run(env *environment) error {
	return printKeyset(env.stdout)(app.PruneKeys(env.ctx, c.config(env)))
}

func printKeyset(w io.Writer) func(string, error) error {
	return func(keyset string, err error) error {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, keyset)
		return err
	}
}
