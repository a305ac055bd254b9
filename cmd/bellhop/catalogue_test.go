package main

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

var testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`|`(stories/[a-z-]+\\.txtar)`")

// Every test that docs/catalogue.md names exists, and every case that applies has
// a test.
func TestTheCatalogueNamesTestsThatExist(t *testing.T) {
	rows := map[string]int{} // how many tests a case has
	known := knownTests{}
	for line := range strings.Lines(readPage(t, "catalogue.md")) {
		found := testName.FindAllStringSubmatch(line, -1)
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			if quoted := strings.Count(cells[2], "`"); quoted != 2*len(found) {
				t.Errorf("a name is not understood in %s", line)
			}
			rows[strings.TrimSpace(cells[1])] += len(found)
		}
		known.expect(t, found)
	}
	for _, id := range requiredCases() {
		if rows[id] == 0 {
			t.Errorf("case %s has no test", id)
		}
	}
}

// The promises of docs/operations.md name their tests too.
func TestOperationsNamesTestsThatExist(t *testing.T) {
	found := testName.FindAllStringSubmatch(readPage(t, "operations.md"), -1)
	if len(found) == 0 {
		t.Error("the page names no test")
	}
	knownTests{}.expect(t, found)
}

var projectRoot = filepath.Join("..", "..")

func readPage(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(projectRoot, "docs", name))
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
		if story := name[3]; story != "" {
			if _, err := os.Stat(filepath.Join("testdata", story)); err != nil {
				t.Error(err)
			}
			continue
		}
		folder, function := name[1], name[2]
		if k[folder] == nil {
			k[folder] = testsIn(t, filepath.Join(projectRoot, folder))
		}
		if !k[folder][function] {
			t.Errorf("%s has no %s", folder, function)
		}
	}
}

// requiredCases returns the ids of reliability.md that apply to existing features.
func requiredCases() []string {
	var all []string
	for _, span := range [][2]int{{1, 80}, {83, 95}} {
		for n := span[0]; n <= span[1]; n++ {
			all = append(all, fmt.Sprint(n))
		}
	}
	for _, group := range []struct {
		name string
		last int
	}{{"IN", 11}, {"AUTH", 9}, {"OUT", 10}, {"SSE", 7}, {"ENC", 5}, {"PROC", 15}, {"REC", 2}} {
		for n := 1; n <= group.last; n++ {
			all = append(all, fmt.Sprint(group.name, "-", n))
		}
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
