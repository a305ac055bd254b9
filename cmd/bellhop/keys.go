package main

import (
	"fmt"

	"bellhop/crypto/seal"
)

type keysCommand struct {
	Generate keysGenerateCommand `cmd:"" help:"Print a new keyset."`
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
	keyset, err := seal.Generate()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, keyset)
	return err
}
