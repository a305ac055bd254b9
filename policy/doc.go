// Package policy decides about tool calls of agents before they happen: allow,
// confirm or deny, with a level and a message for the person who is asked.
//
// It owns the rules and their file, the table that maps the tool names of each
// agent to common ones, and the list of operations of a call: a shell command is
// parsed, and every simple command, redirection and nested script in it is an
// operation of its own. The strictest decision wins.
//
// It does not own asking, remembering or reporting: agenthost and agent do that
// with a Decision. What an agent does inside of a program that it may run (a
// Makefile, a Python script) is not judged here: policy is no sandbox.
//
//	Call ── tool table ──► operations (a command, path or address each)
//	     ── rules, first match ──► a Decision each ── strictest ──► Decision
package policy
