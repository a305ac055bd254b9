package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hijackers are variables that decide which program a name means, or which additional
// code a program loads.
var hijackers = newGlobs(strings.Fields(`
	PATH IFS ENV BASH_ENV BASH_FUNC* SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 CDPATH LD_* DYLD_* GIT_*
	PAGER *_PAGER EDITOR VISUAL BROWSER SHELL NODE_OPTIONS NODE_PATH PYTHON* PERL5* PERLLIB RUBYOPT RUBYLIB
	LESSOPEN LESSCLOSE MANPAGER JAVA_TOOL_OPTIONS _JAVA_OPTIONS RUSTC* CC CXX GOFLAGS MAKEFLAGS SSH_ASKPASS TAR_OPTIONS
`))

// assign records an assignment. It also gets the arguments of builtins such as export; those that
// are no assignment have no name.
func (w *walker) assign(a *syntax.Assign) {
	if a.Value != nil {
		w.inner(a.Value)
	}
	if a.Array != nil {
		w.inner(a.Array)
	}
	if a.Index != nil {
		w.inner(a.Index)
	}
	if a.Name == nil {
		w.tainted = w.tainted || !a.Naked || w.word(a.Value).unknown()
		return
	}
	if !a.Naked {
		w.variableSet(a.Name.Value)
	}
}

// variableSet records that the script sets a variable.
func (w *walker) variableSet(name string) {
	if name == "HOME" || name == "PWD" {
		if w.set == nil {
			w.set = map[string]bool{}
		}
		w.set[name] = true
	}
	w.tainted = w.tainted || hijackers.match(name)
}

// isAssignment reports whether a word is NAME=VALUE.
func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}
