package layering

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"

	"bellhop/internal/release"
)

// TestTheProgramCompilesForEverySystemOfARelease checks types only: compiling all dependencies for six systems takes
// some ten minutes. Of each system it takes one architecture, and not that of most machines, which compile it anyway.
func TestTheProgramCompilesForEverySystemOfARelease(t *testing.T) {
	for _, target := range release.AllTargets() {
		if target.Arch != "arm64" || testing.Short() && target.OS != "windows" { // slow under the race detector
			continue
		}
		t.Run(target.String(), func(t *testing.T) {
			all, err := packages.Load(&packages.Config{
				Context: t.Context(), Dir: root,
				Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedFiles |
					packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedModule,
				Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+target.OS, "GOARCH="+target.Arch, "GOFLAGS=", "GOPROXY=off"),
			}, "./cmd/bellhop")
			if err != nil {
				t.Fatal(err)
			}
			ours := 0
			packages.Visit(all, nil, func(p *packages.Package) {
				if p.Module != nil && p.Module.Main {
					ours++
				}
				for _, e := range p.Errors {
					t.Errorf("%s: %v", p.PkgPath, e)
				}
			})
			if ours < 50 {
				t.Errorf("only %d packages were checked", ours)
			}
		})
	}
}
