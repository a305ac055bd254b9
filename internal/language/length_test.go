package language

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxLine is the number of characters that a line of Go has at most. Biome holds the same limit for TypeScript.
const maxLine = 120

func TestLinesOfGoAreShort(t *testing.T) {
	for _, file := range checkedFiles(t) {
		if path.Ext(file) != ".go" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range longLines(source) {
			t.Errorf("%s:%d: the line has more than %d characters: break it, or shorten it", file, line, maxLine)
		}
	}
}

// longLines returns the numbers of the lines that are too long. It does not count what cannot be broken: raw
// strings, which struct tags are too, directives of linters, and addresses in comments. Generated files have no
// long lines.
func longLines(source []byte) []int {
	if isGenerated(source) {
		return nil
	}
	var files token.FileSet
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	fixed := map[int]int{} // by line, the characters that cannot be broken
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			break
		}
		switch line := file.Line(pos); {
		case kind == token.STRING && literal[0] == '`':
			for i, part := range strings.Split(literal, "\n") {
				fixed[line+i] += utf8.RuneCountInString(part)
			}
		case kind == token.COMMENT && strings.HasPrefix(literal, "//nolint:"):
			fixed[line] += utf8.RuneCountInString(literal)
		case kind == token.COMMENT:
			for _, word := range strings.Fields(literal) {
				if strings.Contains(word, "://") {
					fixed[line] += utf8.RuneCountInString(word)
				}
			}
		}
	}
	var long []int
	for i, line := range strings.Split(string(source), "\n") {
		code := strings.TrimRight(line, " \t")
		if utf8.RuneCountInString(code)-fixed[i+1] > maxLine {
			long = append(long, i+1)
		}
	}
	return long
}

// maxFunction and maxFile are the numbers of lines that a function and a file of Go have at most. The functions of
// tests may be longer, because they hold tables of cases. Biome holds the same limits for TypeScript.
const (
	maxFunction = 60
	maxFile     = 400
)

func TestFunctionsAndFilesOfGoAreShort(t *testing.T) {
	for _, file := range checkedFiles(t) {
		if path.Ext(file) != ".go" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if isGenerated(source) {
			continue
		}
		if n := strings.Count(string(source), "\n"); n > maxFile {
			t.Errorf("%s has %d lines, more than %d: split it", file, n, maxFile)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		long, err := longFunctions(source)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, name := range long {
			t.Errorf("%s: %s has more than %d lines: split it", file, name, maxFunction)
		}
	}
}

// longFunctions returns the names of the functions that are too long, from their first line to the last.
func longFunctions(source []byte) ([]string, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var long []string
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && files.Position(f.End()).Line-files.Position(f.Pos()).Line >= maxFunction {
			long = append(long, f.Name.Name)
		}
	}
	return long, nil
}

func TestLongFunctionsAreFound(t *testing.T) {
	function := func(name string, lines int) string {
		return "// A comment.\nfunc " + name + "() {\n" + strings.Repeat("\tx()\n", lines-2) + "}\n"
	}
	source := "package a\n\n" + function("short", maxFunction) + function("long", maxFunction+1)
	long, err := longFunctions([]byte(source))
	if err != nil || fmt.Sprint(long) != "[long]" {
		t.Errorf("got %v, %v", long, err)
	}
}

func isGenerated(source []byte) bool {
	return slices.ContainsFunc(strings.Split(string(source[:min(len(source), 500)]), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "// Code generated ") && strings.HasSuffix(line, " DO NOT EDIT.")
	})
}

func TestLongLinesAreFound(t *testing.T) {
	word, long := strings.Repeat("x", 100), strings.Repeat("x", maxLine)
	for _, c := range []struct {
		name, source string
		want         []int
	}{
		{"a long line", "package a\n\nvar " + long + " int\n", []int{3}},
		{"a line at the limit", "package a\n\nvar " + long[:maxLine-8] + " int\n", nil},
		{"characters, not bytes", "package a\n\n// " + strings.Repeat("ö", maxLine-3) + "\n", nil},
		{"a long comment", "package a\n\n// " + long + "\n", []int{3}},
		{"an address in a comment", "package a\n\n// See https://example.com/" + word + "\n", nil},
		{"a text", "package a\n\nvar x = \"" + long + "\"\n", []int{3}},
		{"a raw string", "package a\n\nvar x = `" + long + "`\n", nil},
		{"a raw string of several lines", "package a\n\nvar x = `\n" + long + "\n`\n", nil},
		{"a struct tag", "package a\n\ntype x struct {\n\ta int `json:\"" + long + "\"`\n}\n", nil},
		{"code beside a raw string", "package a\n\nvar " + long + " = `x`\n", []int{3}},
		{"a directive", "package a\n\nvar x int //nolint:unused // " + long + "\n", nil},
		{"a generated file", "// Code generated by x. DO NOT EDIT.\n\npackage a\n\nvar " + long + " int\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := longLines([]byte(c.source)); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
