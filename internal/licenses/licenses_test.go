package licenses

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/notebook/verify/treesitter"
)

var update = flag.Bool("update", false, "write notices.txt")

const root = "../.."

func TestNoticesNameEverythingThatIsLinked(t *testing.T) {
	t.Parallel()
	components := linked(t)
	want, list := render(t, components), componentsJSON(t, components)
	if *update {
		err := errors.Join(os.WriteFile("notices.txt", []byte(want), 0o644), os.WriteFile("components.json", list, 0o644))
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(componentList, list) {
		t.Error("components.json is out of date: run go test ./internal/licenses -update")
	}
	if Text() != want {
		t.Error("notices.txt is out of date: run go test ./internal/licenses -update")
	}
}

// The console's own list is checked by its build. Here its versions must be those of the lock file.
func TestTheConsolesPackagesAreThoseOfItsLockFile(t *testing.T) {
	t.Parallel()
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	readJSON(t, filepath.Join(root, "web", "package-lock.json"), &lock)
	for _, p := range linkedPackages(t) {
		found := false
		for path, locked := range lock.Packages {
			found = found || strings.HasSuffix(path, "node_modules/"+p.name) && locked.Version == p.version
		}
		if !found {
			t.Errorf("web/licenses.json has %s %s, package-lock.json does not: run npm run licenses in web", p.name, p.version)
		}
	}
}

// component is a module or package of others with its licence files.
type component struct {
	kind, name, version, license string
	texts                        []string
}

func linked(t *testing.T) []component {
	t.Helper()
	return append(append(linkedModules(t), linkedPackages(t)...), linkedGrammars(t)...)
}

// linkedGrammars are the npm packages that the module of grammars was compiled from, in the order
// of its notices.
func linkedGrammars(t *testing.T) []component {
	t.Helper()
	type entry struct{ Package, Version, Licence string }
	var list struct {
		Core     entry
		Grammars []entry
	}
	readJSON(t, filepath.Join(root, "notebook", "verify", "treesitter", "grammars.json"), &list)
	entries := append([]entry{list.Core}, list.Grammars...)
	texts := strings.Split(treesitter.Notices(), "\n"+strings.Repeat("-", 80)+"\n\n")
	if len(texts) != len(entries) {
		t.Fatalf("%d grammars have %d notices", len(entries), len(texts))
	}
	all := make([]component, len(entries))
	for i, e := range entries {
		_, text, _ := strings.Cut(texts[i], "\n\n")
		all[i] = component{"npm", e.Package, e.Version, e.Licence, []string{text}}
	}
	return all
}

func linkedPackages(t *testing.T) []component {
	t.Helper()
	var list []struct {
		Name, Version, License string
		Texts                  []string
	}
	readJSON(t, filepath.Join(root, "web", "licenses.json"), &list)
	all := make([]component, len(list))
	for i, p := range list {
		all[i] = component{"npm", p.Name, p.Version, p.License, p.Texts}
	}
	if len(all) == 0 {
		t.Fatal("web/licenses.json is empty")
	}
	return all
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, v); err != nil {
		t.Fatal(err)
	}
}
