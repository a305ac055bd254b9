package verify

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"go/version"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"bellhop/notebook/verify/gostd"
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

// golang parses in this process. Types are checked in a worker process, which can be killed if
// the check takes too long.
func (v *Verifier) golang(ctx context.Context, code string) finding {
	found := finding{Tool: goParser, Version: runtime.Version()}
	if d := tooNested(code); d != nil {
		return unsupported(d[0].Message)
	}
	if _, _, err := parseGo(code); err != nil {
		found.Diagnostics = goDiagnostics(err)
		return found
	}
	if !hasPackage(code) {
		found.Reason = "The types were not checked, because the code is a fragment"
		return found
	}
	checked := v.child(ctx, goCheck, code)
	if checked.Unsupported {
		found.Reason = "The types were not checked. " + checked.Reason
		return found
	}
	return checked
}

// tooNested returns the place where the code exceeds a limit for go/parser, nil if it does not.
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
	if errors.As(a, &one) && errors.As(b, &other) && len(one) > 0 && len(other) > 0 &&
		other[0].Pos.Offset > one[0].Pos.Offset {
		return b
	}
	return a
}

// shift makes the positions of err refer to the code without the prefix, which has no line end.
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

// unknownImport returns the first import that is not of the standard library, "" if there is none.
func unknownImport(file *ast.File) string {
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !gostd.Has(path) {
			return path
		}
	}
	return ""
}

// isProgram reports whether the file is a complete program: package main with func main. A file
// of any other package may have others beside it.
func isProgram(file *ast.File) bool {
	return file.Name.Name == "main" && slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
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

// checkGoTypes runs in a worker process, which alone loads the standard library's types. What
// another file of the same package may declare is no error.
func checkGoTypes(code string) finding {
	found := finding{Tool: goTypes, Version: runtime.Version(), Claim: protocol.ClaimTypeChecks}
	files, file, err := parseGo(code)
	if err != nil {
		found.Diagnostics = goDiagnostics(err)
		return found
	}
	if path := unknownImport(file); path != "" {
		found.Tool, found.Claim = goParser, protocol.ClaimParses
		found.Reason = "The types were not checked, because " + path + " is not in the standard library"
		return found
	}
	alone := isProgram(file)
	config := types.Config{Importer: gostd.Importer{}, GoVersion: goVersion(), Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) {
			return
		}
		at := files.Position(e.Pos)
		d := problem(at.Line, at.Column, e.Msg)
		if !alone && needsOtherFile(e.Msg) {
			d[0].Severity = severityWarning
			d[0].Message += " (unless another file of the package declares it)"
			found.Claim, found.Tool = protocol.ClaimParses, goParser
			found.Reason = "The types were not checked as a whole, because the package has other files"
		}
		found.Diagnostics = append(found.Diagnostics, d...)
	}}
	_, _ = config.Check("main", files, []*ast.File{file}, nil)
	return found
}

// goVersion is the language version of the standard library's types.
func goVersion() string {
	release, err := gostd.Load()
	if err != nil {
		return ""
	}
	return version.Lang(release)
}

// needsOtherFile reports whether a declaration in another file could settle an error. It cannot
// change an imported package, whose names have a dot.
func needsOtherFile(message string) bool {
	if name, found := strings.CutPrefix(message, "undefined: "); found {
		return !strings.Contains(name, ".")
	}
	if _, reason, found := strings.Cut(message, " undefined (type "); found {
		of, _, _ := strings.Cut(reason, " has no ")
		return !strings.Contains(of, ".")
	}
	return strings.Contains(message, "missing method ") || strings.Contains(message, "missing function body")
}
