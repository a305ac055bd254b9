package licenses

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// platforms are those that releases are built for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64"}

// goPackage is what "go list -json" says about a package.
type goPackage struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linkedModules returns the modules whose packages cmd/bellhop links on any platform.
func linkedModules(t *testing.T) []component {
	t.Helper()
	modules := map[string]*component{}
	folders := map[string]bool{}
	for _, platform := range platforms {
		for _, p := range linkedOn(t, platform) {
			if p.Module == nil || p.Module.Main {
				continue
			}
			m := modules[p.Module.Path]
			if m == nil {
				m = &component{kind: "golang", name: p.Module.Path, version: p.Module.Version}
				modules[p.Module.Path] = m
			}
			m.add(t, p.Dir, p.Module.Dir, folders)
		}
	}
	all := []component{goItself(t)}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		all = append(all, *modules[path])
	}
	return all
}

func linkedOn(t *testing.T, platform string) (all []goPackage) {
	t.Helper()
	system, processor, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/bellhop")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense|patents)`)

// add adds the licence files between a package's folder and its module's: copied code may bring
// its own.
func (c *component) add(t *testing.T, folder, module string, seen map[string]bool) {
	t.Helper()
	for !seen[folder] && strings.HasPrefix(folder, module) {
		seen[folder] = true
		c.texts = append(c.texts, licensesIn(t, folder)...)
		folder = filepath.Dir(folder)
	}
}

func licensesIn(t *testing.T, folder string) (texts []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n")))
	}
	return texts
}

// goItself is the runtime and the standard library. Its version is that of the toolchain, which
// "bellhop version" prints.
func goItself(t *testing.T) component {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return component{
		kind: "golang", name: "The Go standard library and runtime", texts: licensesIn(t, strings.TrimSpace(string(out))),
	}
}
