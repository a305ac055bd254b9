package testenv

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shortened matches what a test reads its length from; rapid's draws are shortened by Main.
var shortened = regexp.MustCompile(`"BELLHOP_LONG"|testenv\.(Long|Rounds)\(`)

// A package whose tests are shortened belongs to a part of "make test-long", and every listed test exists.
func TestEveryShortenedPackageBelongsToALongPart(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "test-long"))
	Must(t, err)
	var packages []string
	_, table, _ := strings.Cut(string(script), "\nparts='\n")
	table, _, _ = strings.Cut(table, "'")
	for line := range strings.Lines(table) {
		if fields := strings.Split(line, ";"); len(fields) == 4 {
			packages = append(packages, strings.TrimSpace(fields[1]))
		}
	}
	source := testSources(t)
	var all strings.Builder
	for folder, text := range source {
		all.WriteString(text)
		hasDraws := strings.Contains(text, "rapid.Check") && strings.Contains(text, "testenv.Main(")
		if (shortened.MatchString(text) || hasDraws) && !slices.Contains(packages, folder) {
			t.Errorf("scripts/test-long has no part with %s, whose tests are shortened", folder)
		}
	}
	for _, folder := range packages {
		if source[folder] == "" {
			t.Errorf("scripts/test-long runs %s, which has no test", folder)
		}
	}
	for _, r := range randomTests {
		name, _, _ := strings.Cut(r.name, "/")
		if !strings.Contains(all.String(), "func "+name+"(t ") {
			t.Errorf("there is no %s", name)
		}
	}
}

// testSources returns the text of the tests of each folder of the module, but this one's.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	found := map[string]string{}
	Must(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "internal/testenv":
			return nil
		}
		text, err := fs.ReadFile(root, path)
		found[filepath.Dir(path)] += string(text)
		return err
	}))
	return found
}
