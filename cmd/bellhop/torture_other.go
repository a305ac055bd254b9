//go:build !linux

package main

import "errors"

// tortureCommand needs what only Linux has: small file systems and the processes of /proc.
type tortureCommand struct{}

// Run refuses.
func (tortureCommand) Run() error {
	return errors.New("bellhop torture runs on Linux only")
}

func tortureVars() map[string]string { return nil }
