// Package policy decides about tool calls of agents before they happen: allow,
// confirm or deny, with a level and a message for the person who is asked.
//
// It owns the rules and their file, the table that maps the tool names of each
// agent to common ones, and what a call does: a shell command is parsed, and every
// simple command, redirection and nested script in it is decided by itself. The
// strictest verdict wins.
//
// It does not own asking, remembering or reporting: agenthost and agent do that
// with a Decision. What an agent does inside of a program that it may run (a
// Makefile, a Python script) is not seen here: policy is no sandbox.
//
//	Call ── tool table ──► deeds (one a command, path, address) ── rules, first match ──► verdicts ── strictest ──► Decision
package policy
