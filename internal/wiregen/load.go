package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// source is a package with its types and its comments.
type source struct {
	path  string
	fset  *token.FileSet
	files []*ast.File // in the order of their names
	info  *types.Info
}

// listed is what "go list" reports about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// load parses and type-checks a package. The types of its imports come from the
// build cache, which "go list -export" fills.
func load(ctx context.Context, pattern string) (*source, error) {
	packages, err := list(ctx, pattern)
	if err != nil {
		return nil, err
	}
	exports, wanted := map[string]string{}, (*listed)(nil)
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			wanted = p
		}
	}
	if wanted == nil {
		return nil, fmt.Errorf("no package matches %q", pattern)
	}
	s := &source{path: wanted.ImportPath, fset: token.NewFileSet(), info: &types.Info{Defs: map[*ast.Ident]types.Object{}}}
	for _, name := range wanted.GoFiles {
		file, err := parser.ParseFile(s.fset, filepath.Join(wanted.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, file)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(s.fset, "gc", open)}
	_, err = config.Check(wanted.ImportPath, s.fset, s.files, s.info)
	return s, err
}

func list(ctx context.Context, pattern string) ([]*listed, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles,DepOnly", pattern).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pattern, err)
	}
	var packages []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}
