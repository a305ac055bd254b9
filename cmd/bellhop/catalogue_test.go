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
	for _, id := range requiredCases(t) {
		if rows[id] == 0 {
			t.Errorf("case %s has no test", id)
		}
	}
}

// The promises of docs/operations.md name their tests too, in every section.
func TestOperationsNamesTestsThatExist(t *testing.T) {
	known := knownTests{}
	for _, section := range strings.Split(readPage(t, "operations.md"), "\n## ")[1:] {
		found := testName.FindAllStringSubmatch(section, -1)
		if title, _, _ := strings.Cut(section, "\n"); len(found) == 0 {
			t.Errorf("section %q names no test", title)
		}
		known.expect(t, found)
	}
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

// requirement is a numbered one of reliability.md.
var requirement = regexp.MustCompile(`(?m)^\| \*\*([A-Z]+-\d+)\*\* \|`)

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
