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

// Every test that docs/catalogue.md names must exist, and every case that applies
// must have a test.
func TestTheCatalogueNamesTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "catalogue.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{} // number of tests per case
	named := regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`|`(stories/[a-z-]+\\.txtar)`")
	known := map[string]map[string]bool{}
	for line := range strings.Lines(string(page)) {
		found := named.FindAllStringSubmatch(line, -1)
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			if quoted := strings.Count(cells[2], "`"); quoted != 2*len(found) {
				t.Errorf("a name is not understood in %s", line)
			}
			rows[strings.TrimSpace(cells[1])] += len(found)
		}
		for _, name := range found {
			if story := name[3]; story != "" {
				if _, err := os.Stat(filepath.Join("testdata", story)); err != nil {
					t.Error(err)
				}
				continue
			}
			folder, function := name[1], name[2]
			if known[folder] == nil {
				known[folder] = testsIn(t, filepath.Join(root, folder))
			}
			if !known[folder][function] {
				t.Errorf("%s has no %s", folder, function)
			}
		}
	}
	for _, id := range requiredCases() {
		if rows[id] == 0 {
			t.Errorf("case %s has no test", id)
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
	}{{"IN", 11}, {"AUTH", 9}, {"OUT", 10}, {"SSE", 7}, {"ENC", 5}, {"PROC", 10}} {
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
