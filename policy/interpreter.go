package policy

import (
	"slices"
	"strings"
)

// The wrapper commands of this file run a text as a script.

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"}

// shell runs the text after -c, the script on its standard input, or a file.
func shell(w *walker, args []word, in stdin) bool {
	code, file := shellArguments(args)
	switch {
	case code != nil:
		w.nested(code.text)
		return true
	case file != nil && file.unknown():
		w.refuse(notKnown)
		return true
	case file != nil:
		w.addFile(FileRead, *file)
		return false
	case in.piped && in.isKnown:
		w.nested(in.script)
		return true
	}
	return false // the input is unknown: danger decides
}

// shellArguments returns the text after -c, or the file.
func shellArguments(args []word) (code, file *word) {
	command, fromStdin := false, false
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case text == "--":
			continue
		case text == "-o" || text == "+o" || text == "-O" || text == "+O" || text == "--rcfile" || text == "--init-file":
			i++
		case len(text) > 1 && (text[0] == '-' || text[0] == '+'):
			short := text[0] == '-' && text[1] != '-'
			command = command || short && strings.Contains(text, "c")
			fromStdin = fromStdin || short && strings.Contains(text, "s")
			if short && strings.HasSuffix(text, "o") {
				i++
			}
		case command:
			return &args[i], nil
		case fromStdin || text == "-":
			return nil, nil
		default:
			return nil, &args[i]
		}
	}
	return nil, nil
}

func switchUser(w *walker, args []word, _ stdin) bool {
	for i := range args {
		text := args[i].text
		switch {
		case text == "-c" || text == "--command" || isShort(text) && strings.HasSuffix(text, "c"):
			if i+1 < len(args) {
				w.nested(args[i+1].text)
				return true
			}
		case strings.HasPrefix(text, "--command="):
			w.nested(strings.TrimPrefix(text, "--command="))
			return true
		}
	}
	return false
}

// sourced is for source and ".". It refuses a file that is not known beforehand. For a
// known file, the rules decide as for any command.
func sourced(w *walker, args []word, _ stdin) bool {
	if len(args) > 0 && args[0].unknown() {
		w.refuse(notKnown)
	}
	return false
}

func joined(args []word) string { return strings.Join(texts(args), " ") }

// eval runs its words in the current shell, so a cd in them takes effect after it.
func eval(w *walker, args []word, _ stdin) bool {
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if text := joined(args); hasUnknown(text) {
		w.refuse(notKnown)
	} else {
		w.script(text)
	}
	return true
}

func trap(w *walker, args []word, _ stdin) bool {
	if args = afterOptions(args, "", 0); len(args) > 1 && args[0].text != "-" && args[0].text != "" {
		w.nested(args[0].text)
	}
	return true
}

// watch joins its words and runs them as a script.
func watch(w *walker, args []word, _ stdin) bool {
	args = afterOptions(args, "n", 0)
	if len(args) > 0 {
		w.nested(joined(args))
	}
	return len(args) > 0
}

// sshValued are the letters of ssh's options that take a value.
const sshValued = "bcDEeFIiJLlmOopQRSWw"

// remote handles ssh: the remote command is checked as if it ran here. The
// connection is a separate operation, see addFromUses.
func remote(w *walker, args []word, _ stdin) bool {
	if args = afterOptions(args, sshValued, 1); len(args) > 0 {
		w.nested(joined(args))
	}
	return false
}

// interpreters run their standard input when they have no argument.
var interpreters = append(
	strings.Fields("python python2 python3 perl ruby node deno bun php lua Rscript osascript tclsh pwsh"), shells...)

// runsInput reports whether a program runs its standard input as a script.
func runsInput(name string, args []word) bool {
	if !slices.Contains(interpreters, name) {
		return false
	}
	if slices.Contains(shells, name) {
		code, file := shellArguments(args)
		return code == nil && file == nil
	}
	return !slices.ContainsFunc(args, namesScript)
}

// namesScript reports whether an argument of an interpreter is a script, or
// prevents it from reading its input.
func namesScript(a word) bool {
	switch a.text {
	case "--version", "-V", "-v", "-r", "-p":
		return true
	}
	for _, option := range []string{"-c", "-e", "-m", "--eval"} {
		if strings.HasPrefix(a.text, option) {
			return true
		}
	}
	return a.text != "" && a.text[0] != '-'
}
