package main

import "bellhop/notebook/verify"

// verifyWorkerCommand is internal: the broker starts it to check code in a
// separate process, whose crash does no harm.
type verifyWorkerCommand struct{}

// Run checks one piece of code.
func (verifyWorkerCommand) Run(env *environment) error { return verify.Work(env.stdin, env.stdout) }

// verifyWorkerCommandLine starts this binary as a verify worker.
func verifyWorkerCommandLine(self string) []string { return []string{self, "verify-worker"} }
