//go:build !linux

package main

import "errors"

// benchCommand needs what only Linux has: the CPU times and the memory of /proc.
type benchCommand struct{}

// Run refuses.
func (benchCommand) Run() error {
	return errors.New("bellhop bench runs on Linux only")
}

func benchVars() map[string]string { return nil }
