package doccheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName matches a test of Go, a story, or a file of tests of the console.
var testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`|`(stories/[a-z-]+\\.txtar)`|" +
	"`(web/[\\w/-]+\\.(?:test|spec)\\.tsx?)`")

// Every test that docs/catalogue.md names exists, and every case that applies has
// a test.
func TestTheCatalogueNamesTestsThatExist(t *testing.T) {
	rows := map[string]int{} // how many tests a case has
	known := knownTests{}
	for line := range strings.Lines(readPage(t, "catalogue.md")) {
		found := testName.FindAllStringSubmatch(line, -1)
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			held := len(testName.FindAllString(cells[2], -1))
			if quoted := strings.Count(cells[2], "`"); quoted != 2*held {
				t.Errorf("a name is not understood in %s", line)
			}
			rows[strings.TrimSpace(cells[1])] += held
		}
		known.expect(t, found)
	}
	for _, id := range requiredCases(t) {
		if rows[id] == 0 {
			t.Errorf("case %s has no test", id)
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// knownTests are the tests of the folders that were read.
type knownTests map[string]map[string]bool

// expect fails for every match of testName that is no test.
func (k knownTests) expect(t *testing.T, found [][]string) {
	t.Helper()
	for _, name := range found {
		if story, file := name[3], name[4]; story != "" || file != "" {
			if story != "" {
				file = "cmd/bellhop/testdata/" + story
			}
			if !exists(t, file) {
				t.Errorf("%s does not exist", file)
			}
			continue
		}
		folder, function := name[1], name[2]
		if k[folder] == nil {
			k[folder] = testsIn(t, filepath.Join(root, folder))
		}
		if !k[folder][function] {
			t.Errorf("%s has no %s", folder, function)
		}
	}
}

// requiredCases returns the ids of reliability.md that apply to existing features.
func requiredCases(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, span := range [][2]int{{1, 80}, {83, 95}} {
		for n := span[0]; n <= span[1]; n++ {
			all = append(all, fmt.Sprint(n))
		}
	}
	for _, numbered := range requirement.FindAllStringSubmatch(readPage(t, "reliability.md"), -1) {
		all = append(all, numbered[1])
	}
	return all
}

// testsIn returns the names of the test functions in a directory.
func testsIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
