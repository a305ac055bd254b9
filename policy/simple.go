package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// binDirs hold the programs that a bare name means anyway.
var binDirs = []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"}

// simple judges one command: itself, what it runs, what it opens.
func (w *walker) simple(words []word, in feed) {
	if len(words) == 0 || w.full {
		return
	}
	if len(words) > maxWords {
		w.refuse("The command has too many words to be judged")
		return
	}
	list := texts(words)
	if words[0].unknown() || words[0].glob && list[0] != "[" && list[0] != "[[" {
		w.add(deed{words: list, hazard: "Runs a program whose name is not known beforehand", tainted: true})
		return
	}
	if slices.Contains(binDirs, path.Dir(list[0])+"/") {
		list[0] = path.Base(list[0])
	}
	name, args := path.Base(list[0]), words[1:]
	d := deed{words: list, hazard: hazard(name, args, in)}
	if carries := carriers[name]; carries != nil {
		w.depth++
		if w.depth > maxScripts*4 {
			w.refuse("The command is nested too deep to be read")
		} else {
			d.carrier = carries(w, args, in)
			d.hazard = cmp.Or(d.hazard, hidesHazard(name, args))
		}
		w.depth--
	}
	d.carrier = d.carrier && d.hazard == ""
	w.add(d)
	w.effects(name, args)
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

// A carry runs the command that is in a command's arguments. It returns false
// when there is none, so that the command stands for itself.
type carry func(w *walker, args []word, in feed) bool

var carriers map[string]carry

func init() { // the carriers refer to the walker, which refers to them
	carriers = map[string]carry{
		"command": after("", 0), "builtin": after("", 0), "exec": after("a", 0), "nohup": after("", 0), "setsid": after("", 0),
		"time": after("fo", 0), "nice": after("n", 0), "ionice": after("cnpPu", 0), "chrt": after("TPD", 1), "taskset": after("", 1),
		"stdbuf": after("ioe", 0), "timeout": after("ks", 1), "unbuffer": after("", 0), "catchsegv": after("", 0), "busybox": after("", 0),
		"toybox": after("", 0), "doas": after("uC", 0), "sudo": after("ugpCDhrRtTU", 0), "pkexec": after("u", 0), "runuser": after("ugG", 0),
		"chroot": after("", 1), "unshare": after("SG", 0), "nsenter": after("tSG", 0), "strace": after("aeopEPsSu", 0), "ltrace": after("aeosu", 0),
		"watch": again, "flock": lock, "env": environment, "xargs": fromInput("adEILnPs"), "parallel": fromInput("jNnLI"),
		"find": find, "fd": fd, "fdfind": fd, "su": switchUser, "script": switchUser, "eval": eval, "trap": trap, "ssh": remote, "source": sourced, ".": sourced,
	}
	for _, name := range shells {
		carriers[name] = shell
	}
}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"}

// rest drops a command's options; those in valued take the next word. What comes
// after "operands" more words is returned.
func rest(args []word, valued string, operands int) []word {
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
			takes = at == len(text)-2 // else the value is in this word
		}
		args = args[1:]
		if takes && len(args) > 0 {
			args = args[1:]
		}
	}
	return args[min(operands, len(args)):]
}

var longValued = map[string]bool{
	"--user": true, "--group": true, "--signal": true, "--kill-after": true, "--adjustment": true, "--class": true, "--classdata": true,
	"--chdir": true, "--unset": true, "--max-args": true, "--max-procs": true, "--delimiter": true, "--arg-file": true,
	"--host": true, "--prompt": true, "--input": true, "--output": true, "--error": true, "--interval": true, "--jobs": true,
}

func after(valued string, operands int) carry {
	return func(w *walker, args []word, in feed) bool {
		args = rest(args, valued, operands)
		for len(args) > 0 && assignment(args[0].text) { // sudo A=1 cmd
			w.sets(strings.SplitN(args[0].text, "=", 2)[0])
			args = args[1:]
		}
		w.simple(args, in)
		return len(args) > 0
	}
}

func assignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

func environment(w *walker, args []word, in feed) bool {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		if line, ok := splitString(text); ok { // one word that is a command line
			w.parts(line + " " + joined(args[i+1:]))
			return true
		}
		switch {
		case text == "-u" || text == "--unset":
			i++
		case strings.HasPrefix(text, "-C") || strings.HasPrefix(text, "--chdir"):
			w.isolated(func() {
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

// splitString is the text of env -S, which may stand in one word with other
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

// parts reads a text that will be read as a script, if it is known.
func (w *walker) parts(text string) {
	if strings.Contains(text, unknown) {
		w.refuse("Runs a script that is not known beforehand")
		return
	}
	w.isolated(func() { w.script(text) })
}

// fromInput is for commands that add words from their input.
func fromInput(valued string) carry {
	return func(w *walker, args []word, _ feed) bool {
		args = rest(args, valued, 0)
		if len(args) == 0 {
			return false
		}
		w.simple(append(slices.Clone(args), word{text: unknown}), feed{})
		return true
	}
}

// find runs what stands between -exec and ; or +.
func find(w *walker, args []word, _ feed) bool {
	for i := 0; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && args[end].text != ";" && args[end].text != "+" {
				end++
			}
			w.simple(found(args[i+1:end]), feed{})
			i = end
		}
	}
	return false
}

func fd(w *walker, args []word, _ feed) bool {
	for i, a := range args {
		switch a.text {
		case "-x", "-X", "--exec", "--exec-batch":
			w.simple(append(found(args[i+1:]), word{text: unknown}), feed{})
			return false
		}
	}
	return false
}

// found replaces {} with what it stands for: files nobody knows yet.
func found(args []word) []word {
	out := slices.Clone(args)
	for i := range out {
		out[i].text = strings.ReplaceAll(out[i].text, "{}", unknown)
	}
	return out
}

// shell runs its -c text, a script that is fed to it, or a file.
func shell(w *walker, args []word, in feed) bool {
	code, file := shellArguments(args)
	switch {
	case code != nil:
		w.parts(code.text)
		return true
	case file != nil && file.unknown():
		w.refuse("Runs a script that is not known beforehand")
		return true
	case file != nil:
		w.opens(FileRead, *file)
		return false
	case in.piped && in.static:
		w.parts(in.script)
		return true
	}
	return false // hazard judges what is piped in
}

// shellArguments finds the text after -c, or the file.
func shellArguments(args []word) (code, file *word) {
	command, stdin := false, false
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
			stdin = stdin || short && strings.Contains(text, "s")
			if short && strings.HasSuffix(text, "o") {
				i++
			}
		case command:
			return &args[i], nil
		case stdin || text == "-":
			return nil, nil
		default:
			return nil, &args[i]
		}
	}
	return nil, nil
}

func switchUser(w *walker, args []word, _ feed) bool {
	for i := range args {
		text := args[i].text
		switch {
		case text == "-c" || text == "--command" || len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.HasSuffix(text, "c"):
			if i+1 < len(args) {
				w.parts(args[i+1].text)
				return true
			}
		case strings.HasPrefix(text, "--command="):
			w.parts(strings.TrimPrefix(text, "--command="))
			return true
		}
	}
	return false
}

// sourced reads a file into this shell.
func sourced(w *walker, args []word, _ feed) bool {
	if len(args) > 0 && args[0].unknown() {
		w.refuse("Runs a script that is not known beforehand")
	}
	return false
}

func joined(args []word) string { return strings.Join(texts(args), " ") }

func eval(w *walker, args []word, _ feed) bool {
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	text := joined(args)
	if strings.Contains(text, unknown) {
		w.refuse("Runs a script that is not known beforehand")
	} else {
		w.script(text) // in this shell: a cd stays
	}
	return true
}

func trap(w *walker, args []word, _ feed) bool {
	if args = rest(args, "", 0); len(args) > 1 && args[0].text != "-" && args[0].text != "" {
		w.parts(args[0].text)
	}
	return true
}

// again is watch: its words become a script.
func again(w *walker, args []word, _ feed) bool {
	args = rest(args, "n", 0)
	if len(args) > 0 {
		w.parts(joined(args))
	}
	return len(args) > 0
}

// lock is flock FILE COMMAND… or flock FILE -c SCRIPT.
func lock(w *walker, args []word, in feed) bool {
	args = rest(args, "wE", 1)
	if len(args) > 1 && args[0].text == "-c" {
		w.parts(args[1].text)
		return true
	}
	w.simple(args, in)
	return len(args) > 0
}

// remote is ssh: what it runs elsewhere is judged as if it ran here, and it is a
// connection besides (see effects).
func remote(w *walker, args []word, _ feed) bool {
	if args = rest(args, "bcDEeFIiJLlmOopQRSWw", 1); len(args) > 0 {
		w.parts(joined(args))
	}
	return false
}

// hidesHazard looks for a destructive command anywhere in the words, in case the
// options of the one before it were misread.
func hidesHazard(name string, args []word) string {
	switch name {
	case "eval", "trap", "ssh", "find", "command", "fd", "fdfind":
		return ""
	}
	for i := range args[:min(len(args), 16)] {
		if found := hazard(path.Base(args[i].text), args[i+1:], feed{}); found != "" {
			return found
		}
	}
	return ""
}
