package main

import (
	"io"

	"bellhop/internal/licenses"
)

type licensesCommand struct{}

// Run prints the licence of Bellhop and the notices of what the binary contains.
func (licensesCommand) Run(env *environment) error {
	_, err := io.WriteString(env.stdout, licenses.Text())
	return err
}
