package main

import (
	"errors"
	"runtime/debug"

	"bellhop/internal/licenses"
)

type sbomCommand struct{}

// Run prints the software bill of materials of this binary.
func (sbomCommand) Run(env *environment) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("the binary was built without the list of its modules")
	}
	return licenses.WriteBill(env.stdout, version, info)
}
