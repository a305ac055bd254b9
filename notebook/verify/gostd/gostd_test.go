package gostd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"runtime"
	"testing"

	"bellhop/notebook/verify/gostd"
)

// The types are those of the toolchain that builds this program: "go generate" writes them again.
func TestTheTypesAreThoseOfTheToolchain(t *testing.T) {
	t.Parallel()
	release, err := gostd.Load()
	if err != nil || version.Lang(release) != version.Lang(runtime.Version()) {
		t.Errorf("types of %q, toolchain %s: %v", release, runtime.Version(), err)
	}
	for path, want := range map[string]bool{
		"fmt": true, "net/http": true, "unsafe": true, "maps": true, "C": false,
		"internal/abi": false, "example.org/a": false,
	} {
		if gostd.Has(path) != want {
			t.Errorf("Has(%q) is %v", path, !want)
		}
	}
}

func TestProgramsAreCheckedAgainstTheLibrary(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", `package a

import (
	"context"
	"net/http"
	"slices"
)

func F(ctx context.Context, r *http.Request) int { return slices.Max([]int{len(r.WithContext(ctx).URL.Path)}) }
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&types.Config{Importer: gostd.Importer{}}).Check("a", files, []*ast.File{file}, nil); err != nil {
		t.Error(err)
	}
	if _, err := (gostd.Importer{}).Import("example.org/a"); err == nil {
		t.Error("a package of another module was found")
	}
}
