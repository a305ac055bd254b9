package policy

import (
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the scripts of one call. A script beyond them is not parsed; the call
// counts as destructive.
const (
	maxScript  = 64 << 10      // bytes of one script
	maxParsed  = 4 * maxScript // bytes of all scripts, nested ones included
	maxScripts = 8             // levels of nested scripts: sh -c "sh -c …"
	maxNesting = 500           // levels of nested constructs in one script
)

// maxOpeners limits the stack of the parser, which is recursive: a stack overflow
// ends the process without recovery. The parser takes at most 4.6 KiB of stack for
// one opener (measured: "${a[" and "${a:", amd64), so all of them take at most 19
// MiB. Scripts also nest without openers ("if if if", "!!!!", a chain of pipes);
// those take at most 0.9 KiB for each byte, which maxScript limits to 57 MiB.
// TestTheDeepestScriptsFitIntoTheStack and FuzzStack keep the sum below maxStack
// (128 MiB); Go ends a process at 1 GB.
const maxOpeners = 4096

// openers counts the characters that can begin a nested construct. It also counts
// quoted ones, because only a parser could distinguish them.
func openers(script string) int {
	n := 0
	for _, opener := range []string{"(", "[", "{", "`"} {
		n += strings.Count(script, opener)
	}
	return n
}

// script adds the operations of a script and of every script inside it.
func (w *walker) script(text string) {
	switch {
	case len(text) > maxScript || w.parsed+len(text) > maxParsed:
		w.refuse("The command is too long to be read")
		return
	case openers(text) > maxOpeners:
		w.refuse("The command has too many brackets to be read")
		return
	case w.depth >= maxScripts:
		w.refuse(tooDeep)
		return
	}
	if hasInvisible(text) {
		w.doubt(unknown, invisible)
	}
	w.parsed += len(text)
	w.depth++
	defer func() { w.depth-- }()
	file, err := w.grammars.parse(&w.grammars.bash, syntax.LangBash, text)
	if err != nil {
		w.refuse("The command cannot be read: it is not valid shell")
	}
	if script, ok := w.wrappedScriptOf(file); ok && w.depth == 1 {
		w.script(script)
		return
	}
	w.file(file)
	if ambiguous(text) {
		w.asPlainShell(file, text)
	}
}

// asPlainShell adds the operations of a script as a plain sh reads it. If sh does not take the script, it may still run
// statements of it, so each one is read by itself.
func (w *walker) asPlainShell(bash *syntax.File, text string) {
	file, err := w.grammars.parse(&w.grammars.posix, syntax.LangPOSIX, text)
	if err == nil {
		w.file(file)
		return
	}
	if bash == nil || len(bash.Stmts) == 1 {
		return
	}
	for _, s := range bash.Stmts {
		from, to := s.Pos().Offset(), s.End().Offset()
		if to > uint(len(text)) || from > to || !ambiguous(text[from:to]) {
			continue
		}
		if file, err := w.grammars.parse(&w.grammars.posix, syntax.LangPOSIX, text[from:to]); err == nil {
			w.file(file)
		}
	}
}

// wrappedScript returns SCRIPT of a call that is only "bash -lc SCRIPT": some agents send
// every command in this form.
func wrappedScript(words []word) (string, bool) {
	if len(words) != 3 || words[1].text != "-c" && words[1].text != "-lc" || words[2].unknown() || words[2].split {
		return "", false
	}
	dir, name := path.Split(words[0].text)
	return words[2].text, slices.Contains(shells, name) && (dir == "" || slices.Contains(binDirs, dir))
}

// wrappedScriptOf is wrappedScript for a script whose only command may be such a call.
func (w *walker) wrappedScriptOf(f *syntax.File) (string, bool) {
	if f == nil || len(f.Stmts) != 1 {
		return "", false
	}
	s := f.Stmts[0]
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(s.Redirs) > 0 || s.Background || s.Coprocess || s.Disown || s.Negated || len(c.Assigns) > 0 ||
		len(c.Args) != 3 {
		return "", false
	}
	return wrappedScript([]word{w.word(c.Args[0]), w.word(c.Args[1]), w.word(c.Args[2])})
}

const tooDeep = "The command is nested too deep to be read"

// file adds the operations of a parsed script. After a syntax error the caller
// passes the part before the error, or nil.
func (w *walker) file(f *syntax.File) {
	switch {
	case f == nil:
	case nesting(f) > maxNesting:
		w.refuse(tooDeep)
	default:
		w.doubtComments(f)
		w.block(f.Stmts, stdin{})
	}
}

// nesting returns the depth of the constructs of a script. A list, a pipe or a
// chain of operators counts as one level, however long it is.
func nesting(f *syntax.File) int {
	depth, most := 0, 0
	var path []bool // from the root to the current node: whether the node nests
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil { // the last node of path is complete
			if path[len(path)-1] {
				depth--
			}
			path = path[:len(path)-1]
			return true
		}
		path = append(path, nests(n))
		if path[len(path)-1] {
			depth++
			most = max(most, depth)
		}
		return true
	})
	return most
}

func nests(n syntax.Node) bool {
	switch n.(type) {
	case *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WhileClause,
		*syntax.ForClause, *syntax.CaseClause, *syntax.FuncDecl,
		*syntax.TimeClause, *syntax.CoprocClause, *syntax.CmdSubst, *syntax.ProcSubst,
		*syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd,
		*syntax.ParenArithm, *syntax.TestClause, *syntax.ParenTest, *syntax.ExtGlob, *syntax.ArrayExpr, *syntax.DblQuoted:
		return true
	}
	return false
}

// grammars has a pool of parsers for each shell language. Parsers are used again, because
// their buffers are most of the memory that parsing a short command needs.
type grammars struct{ bash, posix sync.Pool }

func (*grammars) parse(free *sync.Pool, variant syntax.LangVariant, text string) (*syntax.File, error) {
	p, ok := free.Get().(*syntax.Parser)
	if !ok {
		p = syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(true))
	}
	file, err := p.Parse(strings.NewReader(text), "")
	free.Put(p)
	return file, err
}

// ambiguous reports whether a script may have another meaning in a plain sh than in
// bash. For example, a plain sh runs b in [[ a && b ]].
func ambiguous(text string) bool {
	for _, sign := range []string{"[[", "((", "$'", "function", "select", "coproc", "let ", "time"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
