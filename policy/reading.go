package policy

import (
	"slices"
	"strings"
)

// reading is one command, read by the table of known programs.
type reading struct {
	walker    *walker
	program   *program
	plain     []string // the command without the program's own options before its subcommand
	flags     []string // names of the options
	operands  []word
	uses      []use
	addresses []string

	doubt   string // why a word is not understood, "" if all are
	inPlace bool   // files that are read are written too
}

// use is a file that a command uses.
type use struct {
	tool    string
	word    word
	selects bool // the word is a pattern for files that the program looks for
}

// use records that the command uses a file. It returns "", as the functions of kinds do for
// a word that is understood.
func (r *reading) use(tool string, v word) string {
	r.uses = append(r.uses, use{tool: tool, word: v})
	return ""
}

// selects records that the command reads the files that a pattern of its own picks.
func (r *reading) selects(v word) string {
	r.uses = append(r.uses, use{tool: FileRead, word: word{text: strings.TrimPrefix(v.text, "/")}, selects: true})
	return ""
}

// addDoubt records why a word is not understood. The first reason is kept.
func (r *reading) addDoubt(why string) {
	if r.doubt == "" {
		r.doubt = why
	}
}

// read reads a command by the table. It returns nil if the program is not in it.
func (w *walker) read(name string, args []word) *reading {
	p := programs()[name]
	if p == nil {
		return nil
	}
	r := &reading{walker: w, program: p, plain: []string{name}}
	args = r.subcommand(args)
	r.plain = append(r.plain, texts(args)...)
	if p = r.program; p.isGroup && !p.alone && r.doubt == "" {
		r.addDoubt("This use of " + p.key + " is not understood")
	}
	r.words(args)
	r.classify()
	if len(p.expects) > 0 && !slices.ContainsFunc(p.expects, func(f string) bool { return slices.Contains(r.flags, f) }) {
		r.addDoubt("This use of " + p.key + " is not understood")
	}
	return r
}

// subcommand sets the program to the row of the subcommand that the words name, and returns
// the words after it.
func (r *reading) subcommand(args []word) []word {
	for r.program.isGroup {
		at := 0
		for at < len(args) && strings.HasPrefix(args[at].text, "-") {
			if _, ok := r.program.flags[args[at].text]; !ok {
				break
			}
			at++
		}
		if at == len(args) {
			return args
		}
		sub := programs()[r.program.key+" "+args[at].text]
		if sub == nil || args[at].glob {
			return args
		}
		r.program = sub
		r.plain = append(r.plain, args[at].text)
		args = args[at+1:]
	}
	return args
}

// words reads options and operands.
func (r *reading) words(args []word) {
	for i := 0; i < len(args); i++ {
		v := args[i]
		if !r.isSingle(v) {
			r.addDoubt("Words of " + r.program.key + " are not known beforehand")
		}
		switch text := v.text; {
		case text == "--":
			r.operands = append(r.operands, args[i+1:]...)
			return
		case len(text) < 2 || text[0] != '-' || r.program.isFree:
			r.operands = append(r.operands, v)
		case r.option(v, args[i+1:]):
			i++
		}
	}
}

// isSingle reports whether the shell surely passes a word on as one word that is no option,
// whatever the values of its unknown parts and patterns are.
func (r *reading) isSingle(v word) bool {
	if r.program.anyOption {
		return true
	}
	if v.split || v.text != "" && strings.HasPrefix(v.text, unknown) {
		return false
	}
	if !v.glob {
		return true
	}
	if strings.HasPrefix(v.text, "--") {
		return strings.Contains(v.text, "=") && !strings.ContainsAny(v.text[:strings.IndexByte(v.text, '=')], "*?[")
	}
	return !strings.ContainsRune("*?[-", rune(v.text[0]))
}

// option reads one word of options and returns true if it takes the next word.
func (r *reading) option(v word, next []word) bool {
	p, text := r.program, v.text
	if p.takesDigits && strings.Trim(text[1:], "0123456789") == "" {
		r.flags = append(r.flags, "-#")
		return false
	}
	if p.words {
		text = "-" + strings.TrimPrefix(strings.TrimPrefix(text, "-"), "-")
	}
	name, value, hasValue := strings.Cut(text, "=")
	if f, ok := p.flags[name]; ok && (p.words || strings.HasPrefix(name, "--") || !hasValue) {
		return r.flag(name, f, word{text: value, glob: v.glob}, hasValue, next)
	}
	if p.words || strings.HasPrefix(text, "--") {
		r.addDoubt("The option " + show(name) + " of " + p.key + " is not understood")
		return false
	}
	return r.letters(v, next)
}

// flag reads one option; value is what follows it in the same word.
func (r *reading) flag(name string, f option, value word, hasValue bool, next []word) bool {
	r.flags = append(r.flags, name)
	r.inPlace = r.inPlace || f.inPlace
	switch {
	case f.value == "":
		if hasValue && (!r.program.words || value.text != "true" && value.text != "false") {
			r.addDoubt("The option " + name + " of " + r.program.key + " has a value that is not understood")
		}
		return false
	case hasValue:
		r.value(name, f, value)
		return false
	case f.optional:
		return false
	case len(next) == 0:
		r.addDoubt("The option " + name + " of " + r.program.key + " has no value")
		return false
	}
	if next[0].split || next[0].glob {
		r.addDoubt("Words of " + r.program.key + " are not known beforehand")
	}
	r.value(name, f, next[0])
	return true
}

func (r *reading) value(name string, f option, v word) {
	if why := kinds[f.value](r, v); why != "" {
		r.addDoubt("The value of " + name + " of " + r.program.key + " " + why)
	}
}

// letters reads a group of short options: -la, -n5.
func (r *reading) letters(v word, next []word) bool {
	for i := 1; i < len(v.text); i++ {
		name, rest := "-"+v.text[i:i+1], v.text[i+1:]
		f, ok := r.program.flags[name]
		switch {
		case !ok || f.last && rest != "":
			r.addDoubt("The option " + show(v.text) + " of " + r.program.key + " is not understood")
			return false
		case f.value != "":
			return r.flag(name, f, word{text: rest, glob: v.glob}, rest != "", next)
		}
		r.flags = append(r.flags, name)
		r.inPlace = r.inPlace || f.inPlace
	}
	return false
}

// classify gives each operand its kind.
func (r *reading) classify() {
	p, all := r.program, r.operands
	row := *p
	if slices.ContainsFunc(p.instead, func(f string) bool { return slices.Contains(r.flags, f) }) {
		row.operands, row.repeats = p.operands[1:], p.repeats-1 // an option has taken the place of the first operand
	}
	for i, v := range all {
		k := row.operand(i, len(all))
		if k == "" {
			r.addDoubt("The word " + show(v.text) + " of " + p.key + " is not understood")
			continue
		}
		if (v.split || v.glob) && !p.isFree && !row.isRepeated(i, len(all)) { // later words may get other kinds
			r.addDoubt("The word " + show(v.text) + " of " + p.key + " may become several words")
		}
		r.operands = all[:i+1] // some kinds look at the operands before theirs
		if why := kinds[k](r, v); why != "" {
			r.addDoubt("The word " + show(v.text) + " of " + p.key + " " + why)
		}
	}
	r.operands = all
	if r.inPlace {
		for _, u := range slices.Clone(r.uses) {
			if u.tool == FileRead {
				r.uses = append(r.uses, use{tool: FileWrite, word: u.word})
			}
		}
	}
}
