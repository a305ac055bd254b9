package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"bellhop/internal/release"
	"bellhop/internal/testenv/testlist"
)

// TestTheProgramCompilesForEverySystemOfARelease checks types only, and of the packages of others their declarations:
// compiling all dependencies for six systems takes some ten minutes. Of each system it takes one architecture, and not
// that of most machines, which compile it anyway; without the tag full, or under the race detector, of Windows alone.
func TestTheProgramCompilesForEverySystemOfARelease(t *testing.T) {
	t.Parallel()
	parsed := &parsedFiles{set: token.NewFileSet(), files: map[string]*ast.File{}}
	for _, target := range release.AllTargets() {
		if target.Arch != "arm64" || (testing.Short() || !testlist.IsFull) && target.OS != "windows" {
			continue
		}
		t.Run(target.String(), func(t *testing.T) {
			all, err := linkedOn(target)
			if err != nil {
				t.Fatal(err)
			}
			ours := 0
			checked := map[string]*types.Package{"unsafe": types.Unsafe}
			for _, p := range all {
				if p.ImportPath == "unsafe" {
					continue
				}
				if p.isOurs() {
					ours++
				}
				checked[p.ImportPath], err = parsed.check(p, checked, target.Arch)
				if err != nil {
					t.Errorf("%s: %v", p.ImportPath, err)
				}
			}
			if ours < 50 {
				t.Errorf("only %d packages were checked", ours)
			}
		})
	}
}

// listed is what "go list -json" says about a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

func (p listed) isOurs() bool { return p.Module != nil && p.Module.Main }

// linkedOn returns the packages of the program, each after those that it imports.
func linkedOn(target release.Target) (all []listed, err error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./cmd/bellhop")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+target.OS, "GOARCH="+target.Arch, "GOFLAGS=", "GOPROXY=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// parsedFiles are the files of all systems, of which most belong to each.
type parsedFiles struct {
	set   *token.FileSet
	files map[string]*ast.File
}

func (f *parsedFiles) check(p listed, imports map[string]*types.Package, arch string) (*types.Package, error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := f.parse(filepath.Join(p.Dir, name), p.isOurs())
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	var found []error
	config := types.Config{
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped := p.ImportMap[path]; mapped != "" {
				path = mapped
			}
			if imports[path] == nil {
				return nil, fmt.Errorf("%s has errors", path)
			}
			return imports[path], nil
		}),
		IgnoreFuncBodies: !p.isOurs(),
		Sizes:            types.SizesFor("gc", arch),
		Error:            func(err error) { found = append(found, err) },
	}
	checked, _ := config.Check(p.ImportPath, f.set, files, nil) // the first of the errors found
	return checked, errors.Join(found...)
}

// parse drops the bodies of functions of others, which take most of the memory.
func (f *parsedFiles) parse(name string, isOurs bool) (*ast.File, error) {
	if file := f.files[name]; file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(f.set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if function, ok := d.(*ast.FuncDecl); ok && !isOurs && function.Body != nil {
			function.Body = &ast.BlockStmt{}
		}
	}
	f.files[name] = file
	return file, nil
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
