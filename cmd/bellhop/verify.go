package main

import "bellhop/notebook/verify"

// verifyWorkerCommand is not for people: the broker starts it to check code in
// a process that may end without harm.
type verifyWorkerCommand struct{}

// Run checks one piece of code.
func (verifyWorkerCommand) Run(env *environment) error { return verify.Work(env.stdin, env.stdout) }

// verifyWorker is how this program starts itself as a checker.
func verifyWorker(self string) []string { return []string{self, "verify-worker"} }
