package main

import (
	"fmt"
	"runtime"
)

type versionCommand struct{}

// Run prints one line: bellhop VERSION (GO, OS/ARCH).
func (versionCommand) Run(env *environment) error {
	_, err := fmt.Fprintf(env.stdout, "bellhop %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
