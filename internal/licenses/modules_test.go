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
	"sync"
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
	all, err := modulesOnce()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(all)
}

var modulesOnce = sync.OnceValues(func() ([]component, error) {
	modules := map[string]*component{}
	folders := map[string]bool{}
	for _, platform := range platforms {
		packages, err := linkedOn(platform)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			if p.Module == nil || p.Module.Main {
				continue
			}
			m := modules[p.Module.Path]
			if m == nil {
				m = &component{kind: "golang", name: p.Module.Path, version: p.Module.Version}
				modules[p.Module.Path] = m
			}
			if err := m.add(p.Dir, p.Module.Dir, folders); err != nil {
				return nil, err
			}
		}
	}
	own, err := goItself()
	if err != nil {
		return nil, err
	}
	all := []component{own}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		all = append(all, *modules[path])
	}
	return all, nil
})

func linkedOn(platform string) (all []goPackage, err error) {
	system, processor, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/bellhop")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense|patents)`)

// add adds the licence files between a package's folder and its module's: copied code may bring
// its own.
func (c *component) add(folder, module string, seen map[string]bool) error {
	for !seen[folder] && strings.HasPrefix(folder, module) {
		seen[folder] = true
		texts, err := licensesIn(folder)
		if err != nil {
			return err
		}
		c.texts = append(c.texts, texts...)
		folder = filepath.Dir(folder)
	}
	return nil
}

func licensesIn(folder string) (texts []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n")))
	}
	return texts, nil
}

// goItself is the runtime and the standard library. Its version is that of the toolchain, which
// "bellhop version" prints.
func goItself() (component, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return component{}, err
	}
	texts, err := licensesIn(strings.TrimSpace(string(out)))
	return component{kind: "golang", name: "The Go standard library and runtime", texts: texts}, err
}
