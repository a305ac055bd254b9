package policy

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is read of one call: scripts in scripts, deeds, directories that
// a command may run in, words of a command, text parsed altogether.
const (
	maxScripts = 8
	maxDeeds   = 2000
	maxDirs    = 8
	maxWords   = 4096
	maxParsed  = 4 * maxScript
)

// walker collects what a script does.
type walker struct {
	*atlas
	grammars *grammars

	dirs    []string // where the next command may run; "" is unknown
	deeds   []deed
	set     map[string]bool // HOME and PWD, once the script sets them
	tainted bool            // names may no longer mean what they say

	depth  int
	parsed int
	full   bool
}

// feed is what a command reads on its standard input.
type feed struct {
	piped  bool
	script string // a here-document or here-string
	static bool   // script is known
}

func (w *walker) add(d deed) {
	if w.full {
		return
	}
	if len(w.deeds) >= maxDeeds {
		w.full = true
		d = deed{tool: ShellRun, words: []string{}, hazard: "Does too many things to be judged", tainted: true}
	}
	if d.tool == "" {
		d.tool = ShellRun
	}
	d.tainted = d.tainted || w.tainted
	w.deeds = append(w.deeds, d)
}

// refuse adds what cannot be read: it may do anything.
func (w *walker) refuse(why string) {
	w.add(deed{words: []string{unknown}, hazard: why, tainted: true})
}

// script reads a script and everything in it.
func (w *walker) script(text string) {
	switch {
	case len(text) > maxScript || w.parsed+len(text) > maxParsed:
		w.refuse("The command is too long to be read")
		return
	case w.depth >= maxScripts || tooDeep(text):
		w.refuse("The command is nested too deep to be read")
		return
	}
	w.parsed += len(text)
	w.depth++
	defer func() { w.depth-- }()
	file, err := w.grammars.parse(&w.grammars.bash, syntax.LangBash, text)
	if err != nil {
		w.refuse("The command cannot be read: it is not valid shell")
	}
	if file != nil {
		w.statements(file.Stmts)
	}
	if ambiguous(text) {
		if file, err := w.grammars.parse(&w.grammars.posix, syntax.LangPOSIX, text); err == nil {
			w.statements(file.Stmts)
		}
	}
}

// grammars keep parsers for the next call: their buffers are most of what reading
// a short command allocates.
type grammars struct{ bash, posix sync.Pool }

func (*grammars) parse(free *sync.Pool, variant syntax.LangVariant, text string) (*syntax.File, error) {
	p, ok := free.Get().(*syntax.Parser)
	if !ok {
		p = syntax.NewParser(syntax.Variant(variant))
	}
	file, err := p.Parse(strings.NewReader(text), "")
	free.Put(p)
	return file, err
}

// ambiguous scripts may mean one thing to bash and another to a plain sh: [[ a &&
// b ]] runs b there.
func ambiguous(text string) bool {
	for _, sign := range []string{"[[", "((", "$'", "function", "select", "coproc", "let ", "time"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// statements run one after the other. A cd may fail, so that what follows may run
// in either directory.
func (w *walker) statements(list []*syntax.Stmt) {
	for _, s := range list {
		w.maybe(func() { w.statement(s, feed{}) })
	}
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

// isolated is a subshell: a cd in it ends with it.
func (w *walker) isolated(f func()) {
	before := w.dirs
	f()
	w.dirs = before
}

func (w *walker) statement(s *syntax.Stmt, in feed) {
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

func (w *walker) command(c syntax.Command, in feed) {
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
		for _, a := range c.Args {
			w.assign(a)
		}
	case *syntax.TimeClause:
		w.statement(c.Stmt, in)
	case *syntax.CoprocClause:
		w.isolated(func() { w.statement(c.Stmt, in) })
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		w.inner(c)
	default:
		w.refuse("The command uses shell syntax that is not understood")
	}
}

// block is a list that may read what is piped to it.
func (w *walker) block(list []*syntax.Stmt, in feed) {
	for _, s := range list {
		w.maybe(func() { w.statement(s, in) })
	}
}

// loop is read again when its second round may run elsewhere.
func (w *walker) loop(round func()) {
	before := w.dirs
	if round(); !slices.Equal(before, w.dirs) {
		w.dirs = []string{""}
		round()
	}
}

func (w *walker) conditional(c *syntax.IfClause, in feed) {
	for ; c != nil; c = c.Else {
		w.block(c.Cond, in)
		w.block(c.Then, in)
	}
}

func (w *walker) binary(c *syntax.BinaryCmd, in feed) {
	switch c.Op {
	case syntax.AndStmt: // the right side runs only where the left one has led
		w.statement(c.X, in)
		w.statement(c.Y, in)
	case syntax.OrStmt:
		w.maybe(func() { w.statement(c.X, in) })
		w.maybe(func() { w.statement(c.Y, in) })
	default: // pipes
		w.isolated(func() { w.statement(c.X, in) })
		w.isolated(func() { w.statement(c.Y, feed{piped: true}) })
	}
}

// function reads the body where it stands; one that calls itself in the
// background or in a pipe never ends.
func (w *walker) function(c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, n := range names {
		if spawnsItself(c.Body, n.Value) {
			w.refuse("A function that starts itself again and again (a fork bomb)")
		}
	}
	before := w.dirs
	if w.statement(c.Body, feed{}); !slices.Equal(before, w.dirs) {
		w.dirs = []string{""} // whoever calls it is elsewhere afterwards
	}
}

func spawnsItself(body *syntax.Stmt, name string) bool {
	found := false
	syntax.Walk(body, func(n syntax.Node) bool {
		if b, ok := n.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
			found = found || calls(b, name)
		}
		if s, ok := n.(*syntax.Stmt); ok && s.Background {
			found = found || calls(s, name)
		}
		return !found
	})
	return found
}

func calls(node syntax.Node, name string) bool {
	found := false
	syntax.Walk(node, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == name {
			found = true
		}
		return !found
	})
	return found
}

// inner finds the commands in words, tests and arithmetic.
func (w *walker) inner(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.isolated(func() { w.statements(n.Stmts) })
			return false
		case *syntax.ProcSubst:
			w.isolated(func() { w.statements(n.Stmts) })
			return false
		}
		return true
	})
}

// setters change what names mean, which program runs, or what it runs besides.
var setters = newGlobs([]string{
	"PATH", "IFS", "ENV", "BASH_ENV", "BASH_FUNC*", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "CDPATH", "LD_*", "DYLD_*", "GIT_*",
	"PAGER", "*_PAGER", "EDITOR", "VISUAL", "BROWSER", "SHELL", "NODE_OPTIONS", "NODE_PATH", "PYTHON*", "PERL5*", "PERLLIB", "RUBYOPT", "RUBYLIB",
	"LESSOPEN", "LESSCLOSE", "MANPAGER", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "RUSTC*", "CC", "CXX", "GOFLAGS", "MAKEFLAGS", "SSH_ASKPASS", "TAR_OPTIONS",
})

func (w *walker) assign(a *syntax.Assign) {
	if a.Value != nil {
		w.inner(a.Value)
	}
	if a.Array != nil {
		w.inner(a.Array)
	}
	if a.Index != nil {
		w.inner(a.Index)
	}
	if a.Name == nil {
		w.tainted = w.tainted || !a.Naked || w.word(a.Value).unknown()
		return
	}
	if !a.Naked {
		w.sets(a.Name.Value)
	}
}

func (w *walker) sets(name string) {
	if name == "HOME" || name == "PWD" {
		if w.set == nil {
			w.set = map[string]bool{}
		}
		w.set[name] = true
	}
	w.tainted = w.tainted || setters.match(name)
}

func (w *walker) call(c *syntax.CallExpr, in feed) {
	for _, a := range c.Assigns {
		w.assign(a)
	}
	if len(c.Args) == 0 {
		return
	}
	words := make([]word, 0, len(c.Args))
	for _, arg := range c.Args {
		if _, plain := arg.Parts[0].(*syntax.Lit); !plain || len(arg.Parts) > 1 {
			w.inner(arg)
		}
		words = append(words, w.word(arg))
	}
	w.simple(words, in)
}
