// Command generate writes the types of the standard library for package gostd. It needs the
// toolchain of go.mod: "go generate ./notebook/verify/gostd".
package main

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"go/token"
	"go/types"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(target string) error {
	cmd := exec.CommandContext(context.Background(), "go", "list", "-export", "-f", "{{.ImportPath}} {{.Export}}", "std")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	files, imports := token.NewFileSet(), map[string]*types.Package{}
	var packages []*types.Package
	for line := range strings.Lines(string(out)) {
		path, file, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || slices.Contains(strings.Split(path, "/"), "internal") || strings.HasPrefix(path, "vendor/") {
			continue
		}
		pkg, err := read(files, imports, path, file)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		packages = append(packages, pkg)
	}
	return write(target, packages)
}

func read(files *token.FileSet, imports map[string]*types.Package, path, file string) (*types.Package, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := gcexportdata.NewReader(f) //nolint:staticcheck // the go command writes export data of this kind
	if err != nil {
		return nil, err
	}
	return gcexportdata.Read(data, files, imports, path)
}

// write leaves positions out: they would name files of this machine.
func write(target string, packages []*types.Package) error {
	var data bytes.Buffer
	data.WriteString(runtime.Version() + "\n")
	if err := gcexportdata.WriteBundle(&data, token.NewFileSet(), packages); err != nil {
		return err
	}
	var compressed bytes.Buffer
	w, err := flate.NewWriter(&compressed, flate.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(data.Bytes()); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	log.Printf("%d packages, %d bytes, compressed %d", len(packages), data.Len(), compressed.Len())
	return os.WriteFile(target, compressed.Bytes(), 0o644)
}
