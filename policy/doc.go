// Package policy decides about tool calls of agents before they run: allow, confirm
// or deny, with a level and a message for the user who is asked.
//
// It owns the rules and their file, the table that maps the tool names of each
// agent to common ones, and the list of operations of a call: a shell command is
// parsed, and every simple command, redirection and nested script in it is an
// operation of its own. The strictest decision wins.
//
// It does not ask, remember or report: agenthost and agent do that with a Decision.
// The rules do not inspect what an allowed program does (a Makefile, a Python
// script): policy is not a sandbox.
//
//	Call ── tool table ──► operations (a command, path or address each)
//	     ── rules, first match ──► a Decision each ── strictest ──► Decision
package policy
