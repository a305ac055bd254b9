package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// binDirs are the directories of standard programs. A path in one of them means the
// same as the bare name.
var binDirs = []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"}

// simple adds the operations of one simple command: the command itself, the command
// that it wraps, and the files and addresses that it uses.
func (w *walker) simple(words []word, in stdin) {
	if len(words) == 0 || w.full {
		return
	}
	if len(words) > maxWords {
		w.refuse("The command has too many words to be checked")
		return
	}
	list := texts(words)
	if words[0].unknown() || words[0].glob && list[0] != "[" && list[0] != "[[" {
		w.add(operation{words: list, danger: "Runs a program whose name is not known beforehand", tainted: true})
		return
	}
	if slices.Contains(binDirs, path.Dir(list[0])+"/") {
		list[0] = path.Base(list[0])
	}
	name, args := path.Base(list[0]), words[1:]
	op := operation{words: list, danger: danger(name, args, in)}
	op.cause = &invocation{words: list, isPiped: in.piped || in.file, atTop: w.atTop()}
	wrap := wrappers[name]
	if wrap != nil {
		w.wrapped(wrap, args, in)
		op.danger = cmp.Or(op.danger, hiddenDanger(name, args))
	}
	w.commands++
	w.ordinal = w.commands
	defer func() { w.ordinal, w.cause = 0, nil }()
	r := w.understand(op.cause, name, args)
	if wrap != nil && r == nil {
		op.cause.doubt = wrapsCommand
	}
	op.doubt, op.moves = op.cause.doubt, r != nil && r.program.moves
	op.cause.danger = op.danger
	w.add(op)
	w.cause = op.cause
	from := len(w.operations)
	if r != nil {
		w.addFromTable(r)
	} else {
		w.addFromUses(name, args)
	}
	w.addTree(name, args, r, w.operations[from:])
	w.recordChanges(name, args)
}

// understand reads a command by the table of known programs, and returns nil for
// programs that are not in it. It sets the command's doubt.
func (w *walker) understand(c *invocation, name string, args []word) *reading {
	if c.words[0] == "[" || c.words[0] == "[[" || c.words[0] == "test" {
		c.doubt = condition(c.words[0], args)
		c.reading = &reading{walker: w, program: &program{key: "test"}}
		return c.reading
	}
	r := w.read(c.words[0], args)
	if r == nil {
		c.doubt = "What " + show(c.words[0]) + " does is not known here"
		return nil
	}
	c.reading, c.plain, c.doubt = r, r.plain, r.doubt
	c.mustBeNamed = r.program.named != ""
	switch {
	case c.doubt != "" || name == "cd" || r.program.isFree:
	case !w.inWorkspace():
		c.doubt = outsideWorkspace
	case r.program.atTop && (!c.atTop || w.isBareRepository()):
		c.doubt = "Runs git in a directory whose settings are not known"
	}
	return r
}

// addFromTable adds the files and addresses of a command that the table of programs describes.
func (w *walker) addFromTable(r *reading) {
	for _, u := range r.uses {
		if u.selects {
			w.addSelection(u.word.text)
			continue
		}
		w.addFile(u.tool, u.word)
	}
	if r.program.key == "set" && len(r.operands)+len(r.flags) == 0 {
		w.addFile(FileRead, word{text: allVariables})
	}
	if r.program.net == "" {
		return
	}
	for _, a := range r.addresses {
		w.add(address(r.program.net, a))
	}
	if len(r.addresses) == 0 {
		w.add(address(r.program.net, unknown))
	}
}

// condition returns why the words of a test are not understood, or "". A test outside
// plainTests may evaluate its words as arithmetic, so it is not understood.
func condition(name string, args []word) string {
	if end, ok := map[string]string{"[": "]", "[[": "]]"}[name]; ok {
		if len(args) == 0 || args[len(args)-1].text != end {
			return "The test has no end"
		}
		args = args[:len(args)-1]
	}
	for _, a := range args {
		switch {
		case a.split || a.glob, strings.HasPrefix(a.text, unknown) && len(args) != 3 && len(args) != 2:
			return "Words of the test are not known beforehand"
		case strings.HasPrefix(a.text, "-") && !slices.Contains(plainTests, a.text):
			return evaluatesText
		}
	}
	return ""
}

var plainTests = strings.Fields("-e -f -d -L -h -s -r -w -x -z -n -nt -ot -ef -a -o")

// wrapped adds the operations of the command that a wrapper command runs.
func (w *walker) wrapped(wrap wrapper, args []word, in stdin) {
	w.depth++
	defer func() { w.depth-- }()
	if w.depth > maxScripts*4 {
		w.refuse(tooDeep)
		return
	}
	wrap(w, args, in)
}

// recordChanges records what a command changes for the later commands of the script: the
// directory, variables, the meaning of names.
func (w *walker) recordChanges(name string, args []word) {
	switch name {
	case "cd", "pushd", "chdir":
		w.changeDirectory(args)
	case "popd":
		w.dirs = []string{""}
	case "alias", "unalias", "enable", "hash", ".", "source", "eval":
		w.tainted = true
	case "export", "declare", "typeset", "readonly", "local":
		for _, arg := range args {
			variable, _, _ := strings.Cut(arg.text, "=")
			w.variableSet(strings.TrimSuffix(variable, "+"))
		}
	case "read", "printf", "mapfile", "readarray", "getopts", "unset":
		for _, arg := range args {
			w.variableSet(arg.text)
		}
	}
}

func (w *walker) changeDirectory(args []word) {
	args = slices.DeleteFunc(slices.Clone(args), func(a word) bool {
		return len(a.text) > 1 && a.text[0] == '-'
	})
	switch {
	case len(args) == 0:
		w.dirs = []string{w.home}
	case args[0].glob || args[0].text == "-":
		w.dirs = []string{""}
	default:
		w.dirs = w.below(args[0].text)
	}
}

// hiddenDanger searches all words of a wrapper command for a destructive command,
// in case the wrapper's options were misread.
func hiddenDanger(name string, args []word) string {
	switch name {
	case "eval", "trap", "ssh", "find", "command", "fd", "fdfind":
		return ""
	}
	for i := range args[:min(len(args), 16)] {
		if found := danger(path.Base(args[i].text), args[i+1:], stdin{}); found != "" {
			return found
		}
	}
	return ""
}
