package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

const manualName = "manual"

type manualCommand struct{}

// Run prints the manual page bellhop(1) in roff.
func (manualCommand) Run(env *environment, parsed *kong.Context) error {
	out := bufio.NewWriter(env.stdout)
	m := manual{out}
	m.line(`.TH BELLHOP 1 "" "Bellhop %s" "Bellhop"`, roffText(version))
	m.line(".SH NAME\nbellhop \\- session broker for remote coding agents")
	m.line(".SH SYNOPSIS\n.B bellhop\n.I command\n.RI [ flags ]")
	m.line(".SH DESCRIPTION")
	m.text(parsed.Model.Help)
	m.line(".SH OPTIONS\nEvery command takes these.")
	m.flags(parsed.Model.Flags)
	m.line(".SH COMMANDS")
	for _, leaf := range parsed.Model.Leaves(true) {
		m.command(leaf)
	}
	m.line(".SH EXIT STATUS")
	for _, status := range exitCodes {
		m.line(".TP\n.B %d\n%s", status.code, roffText(status.meaning))
	}
	m.line(".SH FILES\n.TP\n.I /etc/bellhop/broker.env\nVariables of the broker's service.")
	m.line(".TP\n.I /etc/bellhop/host.env\nVariables of the agent host's service.")
	return out.Flush()
}

// exitCodes are those of run.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{0, "Success."},
	{1, "Failure."},
	{2, "Wrong usage."},
	{exitDenied, "A task of bellhop agent that was denied something."},
	{exitUncompared, "Tasks that bellhop verify could not compare; the others are equal."},
}

// manual writes roff. Errors of the buffer are reported by its Flush.
type manual struct{ out *bufio.Writer }

func (m manual) line(format string, arguments ...any) {
	_, _ = fmt.Fprintf(m.out, format+"\n", arguments...)
}

// text writes paragraphs. Lines that begin with spaces keep their line ends.
func (m manual) text(text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			m.line(".PP")
		}
		example := strings.HasPrefix(paragraph, "  ")
		if example {
			m.line(".nf")
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			if line = strings.TrimRight(line, " "); line != "" {
				m.line("%s", roffText(line))
			}
		}
		if example {
			m.line(".fi")
		}
	}
}

func (m manual) command(node *kong.Node) {
	m.line(".SS %s", roffText(node.FullPath()))
	m.text(node.Help)
	if node.Detail != "" {
		m.line(".PP")
		m.text(node.Detail)
	}
	for _, argument := range node.Positional {
		m.line(".TP\n.I %s\n%s", roffText(argument.Summary()), roffText(argument.Help))
	}
	m.flags(node.Flags)
}

func (m manual) flags(flags []*kong.Flag) {
	for _, flag := range flags {
		if flag.Hidden || flag.Name == "help" {
			continue
		}
		m.line(".TP\n.B %s", roffText(flag.String()))
		help := flag.Help
		if len(flag.Envs) > 0 {
			help += " Variable: " + strings.Join(flag.Envs, ", ") + "."
		}
		m.line("%s", roffText(strings.TrimSpace(strings.ReplaceAll(help, "\n", " "))))
	}
}

// roffText escapes what roff reads as a command: a backslash anywhere, a point or an apostrophe at the
// beginning of a line. A hyphen stays one, so that a copied flag works.
func roffText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "…", "...", "→", "->").Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
