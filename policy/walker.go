package policy

import "slices"

// Bounds of what is read of one call.
const (
	maxOperations = 2000
	maxDirs       = 8    // directories that a command may run in
	maxWords      = 4096 // words of a command
)

// walker collects the operations of a script.
type walker struct {
	*pathResolver
	grammars *grammars

	dirs       []string // where the next command may run; "" is unknown
	operations []operation
	set        map[string]bool // HOME and PWD, once the script sets them
	tainted    bool            // names may stand for other programs

	depth  int // scripts inside each other, or wrapper commands
	parsed int // bytes
	full   bool
}

// feed is what a command reads on its standard input.
type feed struct {
	piped  bool
	script string // a here-document or here-string
	static bool   // script is known
}

func (w *walker) add(op operation) {
	if w.full {
		return
	}
	if len(w.operations) >= maxOperations {
		w.full = true
		op = operation{tool: ShellRun, words: []string{}, danger: "Does too many things to be judged", tainted: true}
	}
	if op.tool == "" {
		op.tool = ShellRun
	}
	op.tainted = op.tainted || w.tainted
	w.operations = append(w.operations, op)
}

// refuse adds an operation that no rule allows, for a part of the call that cannot
// be read: it may do anything.
func (w *walker) refuse(why string) {
	w.add(operation{words: []string{unknown}, danger: why, tainted: true})
}

const notKnown = "Runs a script that is not known beforehand"

// nested reads a text that runs as a script in a process of its own.
func (w *walker) nested(text string) {
	if hasUnknown(text) {
		w.refuse(notKnown)
		return
	}
	w.isolated(func() { w.script(text) })
}

// maybe runs f, after which its directory may or may not be the current one.
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

// isolated runs f as a subshell: a cd in it ends with it.
func (w *walker) isolated(f func()) {
	before := w.dirs
	f()
	w.dirs = before
}
