package policy

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// function adds the operations of the body at the declaration, whether or not the
// function is called.
func (w *walker) function(c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, n := range names {
		if multiplies(c.Body, n.Value) {
			w.refuse("A function that starts itself again and again (a fork bomb)")
		}
	}
	w.doubt("function", newNames)
	before := w.dirs
	if w.statement(c.Body, stdin{}); !slices.Equal(before, w.dirs) {
		w.dirs = []string{""} // unknown: a call may change the directory of its caller
	}
}

// multiplies reports whether a function calls itself in a pipe or in the
// background: the number of processes then grows without end.
func multiplies(body *syntax.Stmt, name string) bool {
	found := false
	syntax.Walk(body, func(n syntax.Node) bool {
		if found || !forks(n) {
			return !found
		}
		found = calls(n, name)
		return false // calls has already searched the nodes below n
	})
	return found
}

// forks reports whether the code below a node runs in separate processes.
func forks(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.BinaryCmd:
		return n.Op == syntax.Pipe || n.Op == syntax.PipeAll
	case *syntax.Stmt:
		return n.Background
	}
	return false
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
