//go:build !linux

package verify

import "os/exec"

// limitMemory: elsewhere the soft limit and the time limit have to do.
func limitMemory(uint64) error { return nil }

func isolate(*exec.Cmd) {}
