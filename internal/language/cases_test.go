package language

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A name of a test case that begins with one of these words continues the case before it, so it says
// nothing where it stands alone: in a list of failures, or when one case is run. The words of the second
// line name no thing that could be looked for.
var continues = regexp.MustCompile(`^(and|nor|also|then|but|so|` +
	`nobody|somebody|anybody|everybody|whoever|who) `)

// testCase is the name of a test case with its line.
type testCase struct {
	line int
	name string
}

func TestNamesOfTestCasesStandAlone(t *testing.T) {
	names := 0
	for _, file := range checkedFiles(t) {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		list, err := testCases(file, source)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		names += len(list)
		for _, c := range list {
			if continues.MatchString(c.name) {
				t.Errorf("%s:%d: the test case %q continues another one, or names no thing: say what holds, of what",
					file, c.line, c.name)
			}
			for _, f := range retiredIn([]text{{c.line, docs, c.name}}) {
				if f.file = file; file != "internal/language/allowed_test.go" && !slices.ContainsFunc(allowed, f.allowedBy) {
					t.Error(f)
				}
			}
		}
	}
	if names < 1000 {
		t.Errorf("only %d names of test cases below %s", names, root)
	}
}

// testCases returns the names of the test cases of a file; none if it has no tests.
func testCases(file string, source []byte) ([]testCase, error) {
	base := path.Base(file)
	switch {
	case strings.HasSuffix(base, "_test.go"):
		return goCases(file, source)
	case strings.Contains(base, ".test.ts"), strings.Contains(base, ".spec.ts"):
		return scriptCases(string(source)), nil
	default:
		return nil, nil
	}
}

// goCases returns the literal names in Run("name", …), in fields name: "…", and in tables of cases: the first
// text of each row, or its key.
func goCases(file string, source []byte) ([]testCase, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var list []testCase
	add := func(e ast.Expr) {
		literal, ok := e.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return
		}
		name, err := strconv.Unquote(literal.Value)
		if err == nil {
			list = append(list, testCase{files.Position(literal.Pos()).Line, name})
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Run" && len(n.Args) == 2 {
				add(n.Args[0])
			}
		case *ast.KeyValueExpr:
			if field, ok := n.Key.(*ast.Ident); ok && field.Name == "name" {
				add(n.Value)
			}
		case *ast.CompositeLit:
			addRows(n, add)
		}
		return true
	})
	return list, nil
}

// addRows adds the names of the rows of a table: of a map its keys, of a list of structs the first member
// of each.
func addRows(table *ast.CompositeLit, add func(ast.Expr)) {
	for _, element := range table.Elts {
		switch row := element.(type) {
		case *ast.KeyValueExpr:
			add(row.Key)
		case *ast.CompositeLit:
			if row.Type == nil && len(row.Elts) > 0 {
				add(row.Elts[0])
			}
		}
	}
}

// title matches the title of a test or of a group of tests; that of test.each follows its table.
var title = regexp.MustCompile(`(?:\b(?:it|test|describe)(?:\.\w+)*\(|\]\)\()\s*(?:'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|` +
	"`((?:\\\\.|[^`\\\\])*)`)|" + `\bname: '((?:\\.|[^'\\\n])*)'`)

func scriptCases(source string) []testCase {
	var list []testCase
	for _, m := range title.FindAllStringSubmatchIndex(source, -1) {
		for group := 2; group < len(m); group += 2 {
			if m[group] >= 0 {
				list = append(list, testCase{1 + strings.Count(source[:m[group]], "\n"), source[m[group]:m[group+1]]})
			}
		}
	}
	return list
}

func TestNamesOfTestCasesAreFound(t *testing.T) {
	for _, c := range []struct {
		place, file, source string
		want                []string
	}{
		{"the name of Run", "a_test.go", `t.Run("one", f); t.Run(x, f); g.Run("two")`, []string{"one"}},
		{
			"the first member of a row", "a_test.go", `_ = []row{{"one", "x"}, {` + "`two`" + `, ""}, {f(), "y"}}`,
			[]string{"one", "two"},
		},
		{"the key of a row", "a_test.go", `_ = map[string]row{"one": {"x"}, "two": y}`, []string{"one", "two"}},
		{"the field name", "a_test.go", `_ = []row{{name: "one", want: "x"}}`, []string{"one"}},
		{"a program", "a.go", `t.Run("one", f)`, nil},
		{
			"TypeScript", "a.test.tsx", "describe('one', () => { it(\"two\", f); test.only(`three`, f); expect('x') });",
			[]string{"one", "two", "three"},
		},
		{"TypeScript on the next line", "a.spec.ts", "test(\n  'one',\n", []string{"one"}},
		{
			"a TypeScript table", "a.test.ts", "it.each([\n  [1],\n])('one %s', f); const x = [{ name: 'two' }];",
			[]string{"one %s", "two"},
		},
		{"a title with a quote", "a.test.ts", `it('one\'s end', f)`, []string{`one\'s end`}},
		{"a TypeScript program", "a.ts", "it('one', f);", nil},
	} {
		t.Run(c.place, func(t *testing.T) {
			source := c.source
			if strings.HasSuffix(c.file, ".go") {
				source = "package a\n\nfunc x() { " + source + " }\n"
			}
			found, err := testCases(c.file, []byte(source))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range found {
				got = append(got, one.name)
			}
			for _, name := range c.want {
				if !slices.Contains(got, name) {
					t.Errorf("got %q, not %q", got, name)
				}
			}
			if len(c.want) == 0 && len(got) > 0 {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestNamesThatContinueAreRefused(t *testing.T) {
	for _, name := range []string{
		"and its end", "nor a newer one", "also in capitals", "then it ends", "but not twice", "so does a stop",
		"nobody without a token", "whoever comes first",
	} {
		if !continues.MatchString(name) {
			t.Errorf("%q is accepted", name)
		}
	}
	for _, name := range []string{"android", "notes", "some", "a start and its end", "butter is soft"} {
		if continues.MatchString(name) {
			t.Errorf("%q is refused", name)
		}
	}
}
