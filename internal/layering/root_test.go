package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Limits of the root of the agent host, where each file may touch each field: what grows belongs into a part.
const (
	maxRootFiles   = 12 // besides doc.go
	maxRootMethods = 30 // of one type
)

func TestTheRootOfTheAgentHostStaysSmall(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "agenthost", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	n, methods := 0, map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if filepath.Base(file) != "doc.go" {
			n++
		}
		countMethods(t, file, methods)
	}
	if n == 0 || n > maxRootFiles {
		t.Errorf("agenthost has %d files, at most %d are allowed: move one into a part", n, maxRootFiles)
	}
	if methods["Host"] == 0 || methods["session"] == 0 {
		t.Errorf("no methods of Host and session among %v", methods)
	}
	for name, n := range methods {
		if n > maxRootMethods {
			t.Errorf("agenthost.%s has %d methods, at most %d are allowed: give some to a type of their own",
				name, n, maxRootMethods)
		}
	}
}

// countMethods adds the methods in a file to those of each type.
func countMethods(t *testing.T, file string, methods map[string]int) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		of := f.Recv.List[0].Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		if name, ok := of.(*ast.Ident); ok {
			methods[name.Name]++
		}
	}
}
