package policy

import (
	"slices"
	"strings"
)

// wrapper handles one wrapper command, such as env or timeout: it adds the operations of
// the command in the arguments. It returns false if they contain none; the rules then
// decide about the wrapper command itself.
type wrapper func(w *walker, args []word, in stdin) bool

var wrappers map[string]wrapper

// The map is not filled in its declaration, which would be an initialization cycle: wrappers call the walker,
// which uses this map.
func init() {
	wrappers = map[string]wrapper{
		"command": after("", 0), "builtin": after("", 0), "exec": after("a", 0), "nohup": after("", 0),
		"setsid": after("", 0), "time": after("fo", 0), "nice": after("n", 0), "ionice": after("cnpPu", 0),
		"chrt": after("TPD", 1), "taskset": after("", 1), "stdbuf": after("ioe", 0), "timeout": after("ks", 1),
		"unbuffer": after("", 0), "catchsegv": after("", 0), "busybox": after("", 0), "toybox": after("", 0),
		"doas": after("uC", 0), "sudo": after("ugpCDhrRtTU", 0), "pkexec": after("u", 0), "runuser": after("ugG", 0),
		"chroot": after("", 1), "unshare": after("SG", 0), "nsenter": after("tSG", 0), "strace": after("aeopEPsSu", 0),
		"ltrace": after("aeosu", 0), "xargs": fromInput("adEILnPs"), "parallel": fromInput("jNnLI"), "env": environment,
		"find": find, "fd": fd, "fdfind": fd, "watch": watch, "flock": lock, "su": switchUser, "script": switchUser,
		"eval": eval, "trap": trap, "ssh": remote, "source": sourced, ".": sourced,
	}
	for _, name := range shells {
		wrappers[name] = shell
	}
}

// afterOptions returns the arguments after a command's options and the given number of
// operands. valued lists the option letters that take the next word as their value.
func afterOptions(args []word, valued string, operands int) []word {
	for len(args) > 0 {
		text := args[0].text
		if text == "--" {
			args = args[1:]
			break
		}
		if len(text) < 2 || text[0] != '-' {
			break
		}
		takes := longValued[text]
		if at := strings.IndexAny(text[1:], valued); at >= 0 && text[1] != '-' {
			takes = at == len(text)-2 // otherwise the value is in this word
		}
		args = args[1:]
		if takes && len(args) > 0 {
			args = args[1:]
		}
	}
	return args[min(operands, len(args)):]
}

// longValued lists the long options that take the next word as their value.
var longValued = map[string]bool{
	"--user": true, "--group": true, "--signal": true, "--kill-after": true, "--adjustment": true, "--class": true,
	"--classdata": true, "--chdir": true, "--unset": true, "--max-args": true, "--max-procs": true, "--delimiter": true,
	"--arg-file": true, "--host": true, "--prompt": true, "--input": true, "--output": true, "--error": true,
	"--interval": true, "--jobs": true,
}

// after returns a wrapper whose command follows its options and the given number of operands.
func after(valued string, operands int) wrapper {
	return func(w *walker, args []word, in stdin) bool {
		args = afterOptions(args, valued, operands)
		for len(args) > 0 && isAssignment(args[0].text) { // sudo A=1 cmd
			name, _, _ := strings.Cut(args[0].text, "=")
			w.variableSet(name)
			args = args[1:]
		}
		w.simple(args, in)
		return len(args) > 0
	}
}

// environment is for env, whose options and assignments precede the command.
func environment(w *walker, args []word, in stdin) bool {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		if line, ok := splitString(text); ok { // one word that holds a command line
			w.nested(line + " " + joined(args[i+1:]))
			return true
		}
		switch {
		case text == "-u" || text == "--unset":
			i++
		case strings.HasPrefix(text, "-C") || strings.HasPrefix(text, "--chdir"):
			w.isolated(func() { // the command runs in a directory that is not known
				w.dirs = []string{""}
				after("uC", 0)(w, args[i:], in)
			})
			return true
		case strings.HasPrefix(text, "-"):
		default:
			return after("", 0)(w, args[i:], in)
		}
	}
	return false
}

// splitString returns the text of env -S, which may share a word with other
// options.
func splitString(text string) (string, bool) {
	if line, ok := strings.CutPrefix(text, "--split-string"); ok {
		return strings.TrimPrefix(line, "="), true
	}
	if len(text) < 2 || text[0] != '-' || text[1] == '-' {
		return "", false
	}
	head, line, ok := strings.Cut(text[1:], "S")
	return strings.TrimPrefix(line, "="), ok && strings.Trim(head, "i0v") == ""
}

// fromInput is for commands that run a command with words from their input.
func fromInput(valued string) wrapper {
	return func(w *walker, args []word, _ stdin) bool {
		args = afterOptions(args, valued, 0)
		if len(args) == 0 {
			return false
		}
		w.simple(append(slices.Clone(args), word{text: unknown}), stdin{}) // the words from the input
		return true
	}
}

// find adds the commands between -exec and ; or +. It returns false because find reads
// files in any case: the rules decide about it too.
func find(w *walker, args []word, _ stdin) bool {
	for i := 0; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && args[end].text != ";" && args[end].text != "+" {
				end++
			}
			w.simple(found(args[i+1:end]), stdin{})
			i = end
		}
	}
	return false
}

// fd adds the command after -x or -X, which extends to the end of the line. It returns
// false for the same reason as find.
func fd(w *walker, args []word, _ stdin) bool {
	for i, a := range args {
		switch a.text {
		case "-x", "-X", "--exec", "--exec-batch":
			w.simple(append(found(args[i+1:]), word{text: unknown}), stdin{})
			return false
		}
	}
	return false
}

// found replaces {}, which stands for the files that a search will find.
func found(args []word) []word {
	out := slices.Clone(args)
	for i := range out {
		out[i].text = strings.ReplaceAll(out[i].text, "{}", unknown)
	}
	return out
}

// lock is for flock FILE COMMAND… and flock FILE -c SCRIPT.
func lock(w *walker, args []word, in stdin) bool {
	args = afterOptions(args, "wE", 1)
	if len(args) > 1 && args[0].text == "-c" {
		w.nested(args[1].text)
		return true
	}
	w.simple(args, in)
	return len(args) > 0
}
