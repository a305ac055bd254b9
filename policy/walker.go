package policy

import "slices"

// Limits of one call. Parts beyond them are refused.
const (
	maxOperations = 2000
	maxDirs       = 8    // directories in which a command may run
	maxWords      = 4096 // words of a command
)

// walker collects the operations of a script.
type walker struct {
	*pathResolver
	grammars *grammars

	dirs       []string // where the next command may run; "" is unknown
	operations []operation
	set        map[string]bool // which of HOME and PWD the script sets
	tainted    bool            // names may refer to other programs
	usesSecret bool            // the value of a variable that may be secret is in a word, a document or a value

	isInside bool        // all of checked are inside the workspace
	checked  []string    // the value of dirs for which isInside was computed
	commands int         // number of commands so far
	ordinal  int         // number of the current command, from 1; 0 outside a command
	cause    *invocation // the current command

	depth  int  // of nested scripts and wrapper commands
	parsed int  // bytes parsed so far
	full   bool // maxOperations is reached: nothing more is added
}

// stdin is the standard input of a command. The zero value is one that the script does not set.
type stdin struct {
	piped   bool   // the command may read a script from it: from another command, a here-document, a device
	file    bool   // a file that the command names
	script  string // the text of a here-document or here-string
	isKnown bool   // script has the whole text: nothing in it depends on the run
}

func (w *walker) add(op operation) {
	if w.full {
		return
	}
	if len(w.operations) >= maxOperations {
		w.full = true
		op = operation{tool: ShellRun, words: []string{}, danger: "Does too many things to be checked", tainted: true}
	}
	if op.tool == "" {
		op.tool = ShellRun
	}
	op.tainted = op.tainted || w.tainted
	op.ordinal = w.ordinal
	if op.cause == nil {
		op.cause = w.cause
	}
	w.operations = append(w.operations, op)
}

// refuse adds an operation that no rule allows, for a part of the call that cannot
// be read and may therefore do anything.
func (w *walker) refuse(why string) {
	w.add(operation{words: []string{unknown}, danger: why, tainted: true})
}

const notKnown = "Runs a script that is not known beforehand"

// nested adds the operations of a text that runs as a script in its own process.
func (w *walker) nested(text string) {
	if hasUnknown(text) {
		w.refuse(notKnown)
		return
	}
	w.isolated(func() { w.script(text) })
}

// maybe calls f for a part of the script that may or may not run. Afterwards dirs has the
// directories of both cases.
func (w *walker) maybe(f func()) {
	before := w.dirs
	f()
	if !slices.Equal(before, w.dirs) {
		w.dirs = union(before, w.dirs)
	}
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, dir := range b {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	if len(out) > maxDirs {
		return []string{""}
	}
	return out
}

// isolated runs f as a subshell: a cd in it has no effect after it.
func (w *walker) isolated(f func()) {
	before := w.dirs
	f()
	w.dirs = before
}
