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
	return `The keyset is one line. Keep it where only the broker can read it, and keep a copy apart from the
database: without it no sealed secret can be opened again.

  bellhop keys generate > keyset && chmod 600 keyset
  BELLHOP_KEYSET_FILE=keyset bellhop serve`
}

// Run prints the keyset alone, so that it can be redirected into a file.
func (keysGenerateCommand) Run(env *environment) error {
	keyset, err := seal.Generate()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, keyset)
	return err
}
