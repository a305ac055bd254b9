package verify

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"runtime"
	"slices"

	"bellhop/protocol"
)

// Limits of the code given to go/parser. It recurses for brackets and for prefix operators, and
// its own limit allows a stack of hundreds of megabytes.
const (
	maxGoNesting  = 1000
	maxGoPrefixes = 1000
	maxGoElse     = 2000
)

const (
	goParser = "go/parser"
	goTypes  = "go/parser+go/types"
	goCheck  = "go-types" // the name of this check in a request to the child
)

// golang parses in this process. Types are checked in a child, which can be killed if the check
// takes too long.
func (v *Verifier) golang(ctx context.Context, code string) finding {
	found := finding{Tool: goParser, Version: runtime.Version()}
	if d := tooNested(code); d != nil {
		found.Diagnostics = d
		return found
	}
	_, file, err := parseGo(code)
	if err != nil {
		found.Diagnostics = goDiagnostics(err)
		return found
	}
	if !selfContained(file) || len(v.o.Worker) == 0 {
		return found
	}
	if checked := v.child(ctx, goCheck, code); !checked.Unsupported {
		return checked
	}
	return found
}

func tooNested(code string) []protocol.Diagnostic {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(code))
	s.Init(file, []byte(code), nil, 0)
	depth, prefixes, elses := 0, 0, 0
	for {
		pos, tok, _ := s.Scan()
		switch tok {
		case token.EOF:
			return nil
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
			prefixes++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.ELSE:
			elses++
		case token.IDENT, token.INT, token.FLOAT, token.IMAG, token.CHAR, token.STRING, token.SEMICOLON:
			prefixes = 0
		default:
			prefixes++
		}
		if depth > maxGoNesting || prefixes > maxGoPrefixes || elses > maxGoElse {
			at := files.Position(pos)
			return problem(at.Line, at.Column, "The code is nested too deeply to be checked")
		}
	}
}

// parseGo parses a file, or a fragment as models often show one: declarations without a package
// clause, or statements. Positions refer to the fragment. If nothing parses, the error is that
// of the attempt that got furthest.
func parseGo(code string) (*token.FileSet, *ast.File, error) {
	var first error
	for _, wrap := range [][2]string{{"", ""}, {"package p;", ""}, {"package p; func _() {", "\n}"}} {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "", wrap[0]+code+wrap[1], parser.AllErrors|parser.SkipObjectResolution)
		if err == nil {
			return files, file, nil
		}
		if first == nil {
			first = err
			if hasPackage(code) {
				break
			}
			continue
		}
		shift(err, len(wrap[0]))
		first = furthest(first, err)
	}
	return nil, nil, first
}

// furthest returns the error at the larger offset; a if they are equal.
func furthest(a, b error) error {
	var one, other scanner.ErrorList
	if errors.As(a, &one) && errors.As(b, &other) && len(one) > 0 && len(other) > 0 && other[0].Pos.Offset > one[0].Pos.Offset {
		return b
	}
	return a
}

func shift(err error, prefix int) {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return
	}
	for _, e := range list {
		if e.Pos.Offset -= prefix; e.Pos.Line == 1 {
			e.Pos.Column -= prefix
		}
	}
}

func hasPackage(code string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", code, parser.PackageClauseOnly)
	return err == nil
}

// selfContained reports whether code can be type-checked alone: it must be a complete main
// package without imports. Any other package may have further files.
func selfContained(file *ast.File) bool {
	if len(file.Imports) > 0 || file.Name.Name != "main" {
		return false
	}
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "main"
	})
}

func goDiagnostics(err error) []protocol.Diagnostic {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return problem(0, 0, err.Error())
	}
	var all []protocol.Diagnostic
	for _, e := range list {
		all = append(all, problem(e.Pos.Line, max(e.Pos.Column, 1), e.Msg)...)
	}
	return all
}

// checkGoTypes runs in the child, on code that parses and is self-contained.
func checkGoTypes(code string) finding {
	found := finding{Tool: goTypes, Version: runtime.Version()}
	files, file, err := parseGo(code)
	if err != nil {
		found.Diagnostics = goDiagnostics(err)
		return found
	}
	config := types.Config{Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) {
			at := files.Position(e.Pos)
			found.Diagnostics = append(found.Diagnostics, problem(at.Line, at.Column, e.Msg)...)
		}
	}}
	_, _ = config.Check("main", files, []*ast.File{file}, nil)
	return found
}
