package policy

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// Reasons why a part of a script is not understood.
const (
	evaluatesText    = "Evaluates text that is not known beforehand"
	setsNames        = "Sets a variable, which may change what other commands do"
	newNames         = "Gives a name another meaning"
	outsideWorkspace = "Runs in a directory that is not in the workspace, or not known beforehand"
	wrapsCommand     = "Runs another command in a way that is not understood"
	outOfTree        = "Redirects to a path outside the workspace, or not known beforehand"
	invisible        = "Contains characters that cannot be seen"
	otherShells      = "Means something else to other shells"
	unsafeCall       = "The argument of the tool is not understood: "
)

// doubt adds an operation that only a rule with exactly these words allows, for a part
// of a script that is not a command.
func (w *walker) doubt(what, why string) {
	w.add(operation{words: []string{what}, doubt: why})
}

// expression adds doubts about expansions, tests and arithmetic that evaluate more
// than the script shows: a subscript may contain a command.
func (w *walker) expression(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ParamExp:
		w.usesSecret = w.usesSecret || isSecretVariable(n)
		if evaluated(n) {
			w.doubt("${…}", evaluatesText)
		}
	case *syntax.ExtGlob: // zsh reads "*(e:'…':)" as a pattern that runs commands
		w.doubt("("+n.Pattern.Value+")", evaluatesText)
	case *syntax.SglQuoted: // in fish the backslash hides the end of the text
		if strings.HasSuffix(n.Value, `\`) {
			w.doubt("'"+n.Value+"'", otherShells)
		}
	case *syntax.ArithmExp:
		w.arithmetic(n.X)
	case *syntax.ArithmCmd:
		w.arithmetic(n.X)
	case *syntax.CStyleLoop:
		w.arithmetic(n.Init, n.Cond, n.Post)
	case *syntax.LetClause:
		w.arithmetic(n.Exprs...)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			w.doubt("[[ "+n.Op.String(), evaluatesText)
		}
	case *syntax.BinaryTest:
		if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr && (!isNumber(n.X) || !isNumber(n.Y)) {
			w.doubt("[[ "+n.Op.String(), evaluatesText)
		}
	}
}

// evaluated reports whether an expansion does more than to insert a value.
func evaluated(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Index != nil || p.Slice != nil || p.Names != 0 || p.Flags != nil ||
		p.NestedParam != nil ||
		p.Width || p.IsSet || len(p.Modifiers) > 0 {
		return true
	}
	return p.Exp != nil &&
		(p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull || p.Exp.Op == syntax.OtherParamOps)
}

// arithmetic adds a doubt about expressions with more than numbers and operators: the shell
// also evaluates the value of a name.
func (w *walker) arithmetic(list ...syntax.ArithmExpr) {
	for _, x := range list {
		if x != nil && !numeric(x) {
			w.doubt("((…))", evaluatesText)
			return
		}
	}
}

func numeric(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return isNumber(x)
	case *syntax.ParenArithm:
		return numeric(x.X)
	case *syntax.UnaryArithm:
		return numeric(x.X)
	case *syntax.BinaryArithm:
		return numeric(x.X) && numeric(x.Y)
	}
	return false
}

func isNumber(n syntax.Node) bool {
	word, ok := n.(*syntax.Word)
	return ok && word.Lit() != "" && strings.Trim(word.Lit(), "0123456789") == ""
}

// doubtComments adds doubts about comments that look like commands: some interactive shells
// read # as a word and run the text after it.
func (w *walker) doubtComments(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok && strings.ContainsAny(c.Text, ";&|`$<>") {
			w.doubt("#"+c.Text, otherShells)
		}
		return true
	})
}

// hasInvisible reports whether a script contains characters that a reader does not see,
// or that shells and this package read differently.
func hasInvisible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar ||
			unicode.IsSpace(r) && r != ' ')
	})
}

// harmlessVariables may be set to plain values: they do not change which program runs.
var harmlessVariables = strings.Fields("CGO_ENABLED GOOS GOARCH LANG LC_ALL TZ NO_COLOR FORCE_COLOR CI")

// isHarmlessSetting reports whether an assignment before a command sets a harmless
// variable to a plain value.
func (w *walker) isHarmlessSetting(a *syntax.Assign) bool {
	if a.Name == nil || a.Append || a.Index != nil || a.Array != nil || !slices.Contains(harmlessVariables, a.Name.Value) {
		return false
	}
	value := w.word(a.Value)
	return !value.unknown() && !strings.Contains(value.text, "/")
}

// doubtAssignment adds the setting of a variable as an operation of its own.
func (w *walker) doubtAssignment(a *syntax.Assign) {
	name := unknown
	if a.Name != nil {
		name = a.Name.Value
	}
	w.doubt(name+"=", setsNames)
}

// inWorkspace reports whether the next command runs inside the workspace.
func (w *walker) inWorkspace() bool {
	if !slices.Equal(w.dirs, w.checked) {
		w.checked, w.isInside = w.dirs, true
		for _, dir := range w.dirs {
			p := w.place(dir, ".")
			w.isInside = w.isInside && p.inside()
		}
	}
	return w.isInside
}

// atTop reports whether the next command runs in the workspace's own directory, and not
// in one below it.
func (w *walker) atTop() bool {
	if len(w.dirs) != 1 || w.dir == "" || !w.inWorkspace() {
		return false
	}
	p := w.place(w.dirs[0], ".")
	return len(p.written.rel) == 0 && len(p.real.rel) == 0
}

// isBareRepository reports whether the workspace looks like a bare repository, whose
// settings git would use.
func (w *walker) isBareRepository() bool {
	return w.exists(w.dir+"/HEAD") && !w.exists(w.dir+"/.git")
}
