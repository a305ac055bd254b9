package main

import (
	"os"
	"path/filepath"

	"bellhop/notebook/verify"
)

// verifyWorkerName is the command's name.
const verifyWorkerName = "verify-worker"

// verifyWorkerCommand is internal: the broker starts it to check code in a
// separate process, whose crash does no harm.
type verifyWorkerCommand struct{}

// Run checks one piece of code after another.
func (verifyWorkerCommand) Run(env *environment) error { return verify.Work(env.stdin, env.stdout) }

// verifyWorkerCommandLine starts this binary as a verify worker.
func verifyWorkerCommandLine(self string) []string { return []string{self, verifyWorkerName} }

// verifyCache is the directory for compiled grammars, "" if the user has no cache directory.
func verifyCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "bellhop", "grammars")
}
