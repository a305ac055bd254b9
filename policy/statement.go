package policy

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// block adds the operations of statements that run one after the other and may read
// the input piped to the list. A cd may fail, so the statements after it may run in
// either directory.
func (w *walker) block(list []*syntax.Stmt, in stdin) {
	for _, s := range list {
		w.maybe(func() { w.statement(s, in) })
	}
}

func (w *walker) statement(s *syntax.Stmt, in stdin) {
	if s == nil || w.full {
		return
	}
	for _, r := range s.Redirs {
		in = w.redirect(r, in)
	}
	if s.Background || s.Coprocess || s.Disown {
		w.isolated(func() { w.command(s.Cmd, in) })
		return
	}
	w.command(s.Cmd, in)
}

func (w *walker) command(c syntax.Command, in stdin) {
	switch c := c.(type) {
	case nil:
	case *syntax.CallExpr:
		w.call(c, in)
	case *syntax.BinaryCmd:
		w.binary(c, in)
	case *syntax.Subshell:
		w.isolated(func() { w.block(c.Stmts, in) })
	case *syntax.Block:
		w.block(c.Stmts, in)
	case *syntax.IfClause:
		w.conditional(c, in)
	case *syntax.WhileClause:
		w.loop(func() { w.block(c.Cond, in); w.block(c.Do, in) })
	case *syntax.ForClause:
		w.inner(c.Loop)
		w.loop(func() { w.block(c.Do, in) })
	case *syntax.CaseClause:
		w.inner(c.Word)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.inner(p)
			}
			w.block(item.Stmts, in)
		}
	case *syntax.FuncDecl:
		w.function(c)
	case *syntax.DeclClause:
		names := false
		for _, a := range c.Args {
			names = names || a.Name != nil
			w.assign(a)
		}
		if !names { // export -p
			w.addFile(FileRead, word{text: allVariables})
		}
		w.doubt(c.Variant.Value, setsNames)
	case *syntax.TimeClause:
		w.statement(c.Stmt, in)
	case *syntax.CoprocClause:
		w.isolated(func() { w.statement(c.Stmt, in) })
	case *syntax.TestClause:
		w.condition(func() { w.inner(c) })
	case *syntax.ArithmCmd, *syntax.LetClause:
		w.inner(c)
	default:
		w.refuse("The command uses shell syntax that is not understood")
	}
}

// loop reads a loop's body a second time if a cd makes the second round run in
// another directory.
func (w *walker) loop(round func()) {
	before := w.dirs
	if round(); !slices.Equal(before, w.dirs) {
		w.dirs = []string{""} // unknown: each further round may begin elsewhere
		round()
	}
}

func (w *walker) conditional(c *syntax.IfClause, in stdin) {
	for ; c != nil; c = c.Else {
		w.block(c.Cond, in)
		w.block(c.Then, in)
	}
}

func (w *walker) binary(c *syntax.BinaryCmd, in stdin) {
	switch c.Op {
	case syntax.AndStmt: // the right side runs only after the left one succeeded
		w.statement(c.X, in)
		w.statement(c.Y, in)
	case syntax.OrStmt:
		w.maybe(func() { w.statement(c.X, in) })
		w.maybe(func() { w.statement(c.Y, in) })
	default: // a pipe runs each side in its own process, but some shells run the last one themselves
		w.isolated(func() { w.statement(c.X, in) })
		w.maybe(func() { w.statement(c.Y, stdin{piped: true}) })
	}
}

// inner adds the operations of the commands in a word, a test or arithmetic.
func (w *walker) inner(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.isolated(func() { w.block(n.Stmts, stdin{}) })
			return false
		case *syntax.ProcSubst:
			w.isolated(func() { w.block(n.Stmts, stdin{}) })
			return false
		}
		w.expression(n)
		return true
	})
}

// conditions are the commands of a test; a plain sh looks for a program [[.
var conditions = []string{"[", "[[", "test"}

// condition calls f for the words of a test, which prints and sends nothing.
func (w *walker) condition(f func()) {
	before := w.usesSecret
	f()
	w.usesSecret = before
}

func (w *walker) call(c *syntax.CallExpr, in stdin) {
	for _, a := range c.Assigns {
		w.assign(a)
		if len(c.Args) == 0 || !w.isHarmlessSetting(a) {
			w.doubtAssignment(a)
		}
	}
	if len(c.Args) == 0 {
		return
	}
	words := make([]word, 0, len(c.Args))
	read := func() {
		for _, arg := range c.Args {
			if _, plain := arg.Parts[0].(*syntax.Lit); !plain || len(arg.Parts) > 1 {
				w.inner(arg)
			}
			words = append(words, w.word(arg))
		}
	}
	if name := c.Args[0].Lit(); slices.Contains(conditions, name) {
		w.condition(read)
	} else {
		read()
	}
	w.simple(words, in)
}
