package licenses

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write notices.txt")

const root = "../.."

func TestNoticesNameEverythingThatIsLinked(t *testing.T) {
	components := append(linkedModules(t), linkedPackages(t)...)
	want := render(t, components)
	if *update {
		if err := os.WriteFile("notices.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if Text() != want {
		t.Error("notices.txt is out of date: run go test ./internal/licenses -update")
	}
}

// The console's own list is checked by its build. Here its versions must be those of the lock file.
func TestTheConsolesPackagesAreThoseOfItsLockFile(t *testing.T) {
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

// A licence that asks for more than a notice would need a decision.
func TestLinkedLicensesAreOfTheKnownKinds(t *testing.T) {
	for _, c := range append(linkedModules(t), linkedPackages(t)...) {
		text := strings.Join(c.texts, "\n")
		if kind := kindOf(text + "\n" + c.license); kind == "" {
			t.Errorf("%s %s has a license of an unknown kind:\n%.300s", c.name, c.version, text)
		}
	}
}

// component is a module or package of others with its licence files.
type component struct {
	name, version, license string
	texts                  []string
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
		all[i] = component{p.Name, p.Version, p.License, p.Texts}
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
