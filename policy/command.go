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
func (w *walker) simple(words []word, in feed) {
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
	if wrap := wrappers[name]; wrap != nil {
		op.wrapper = w.wrapped(wrap, args, in)
		op.danger = cmp.Or(op.danger, hiddenDanger(name, args))
	}
	op.wrapper = op.wrapper && op.danger == ""
	w.add(op)
	w.effects(name, args)
	w.changes(name, args)
}

// wrapped adds the operations of the command that a wrapper command runs. It
// returns false when there is none.
func (w *walker) wrapped(wrap wrapper, args []word, in feed) bool {
	w.depth++
	defer func() { w.depth-- }()
	if w.depth > maxScripts*4 {
		w.refuse(tooDeep)
		return false
	}
	return wrap(w, args, in)
}

// changes records what a command changes for the later commands of the script: the
// directory, variables, the meaning of names.
func (w *walker) changes(name string, args []word) {
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
			w.sets(strings.TrimSuffix(variable, "+"))
		}
	case "read", "printf", "mapfile", "readarray", "getopts", "unset":
		for _, arg := range args {
			w.sets(arg.text)
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
		if found := danger(path.Base(args[i].text), args[i+1:], feed{}); found != "" {
			return found
		}
	}
	return ""
}
