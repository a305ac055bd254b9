// Package gostd knows the types of Go's standard library, without sources or a toolchain: they
// were written by package generate and are part of the binary. They are those of linux/amd64.
package gostd

import (
	"bufio"
	"bytes"
	"compress/flate"
	_ "embed"
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"sync"

	"golang.org/x/tools/go/gcexportdata"
)

//go:generate go run ./generate std.flate

//go:embed std.flate
var compressed []byte

// library is the read data: its Go version and its packages by path.
type library struct {
	version  string
	packages map[string]*types.Package
	err      error
}

var read = sync.OnceValue(func() library {
	data := bufio.NewReader(flate.NewReader(bytes.NewReader(compressed)))
	version, err := data.ReadString('\n')
	if err != nil {
		return library{err: err}
	}
	packages := map[string]*types.Package{}
	if _, err := gcexportdata.ReadBundle(data, token.NewFileSet(), packages); err != nil {
		return library{err: err}
	}
	packages["unsafe"] = types.Unsafe
	return library{version: strings.TrimSpace(version), packages: packages}
})

// Load reads the types, which takes a tenth of a second once, and returns their Go version.
func Load() (version string, err error) {
	l := read()
	return l.version, l.err
}

// Has reports whether path is a package of the standard library that programs may import.
func Has(path string) bool {
	l := read()
	return l.packages[path] != nil && l.packages[path].Complete()
}

// Importer imports packages of the standard library, and no others.
type Importer struct{}

// Import implements types.Importer.
func (Importer) Import(path string) (*types.Package, error) {
	if l := read(); l.err != nil {
		return nil, l.err
	} else if pkg := l.packages[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	return nil, fmt.Errorf("%s is no package of the standard library", path)
}
