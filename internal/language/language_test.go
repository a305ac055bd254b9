package language

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../.."

// finding is a retired word in a file.
type finding struct {
	file string
	line int
	word string
	in   string // the name, or the words around it
	use  string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %q in %q is retired: use %s", f.file, f.line, f.word, f.in, f.use)
}

func TestNamesCommentsAndDocsUseNoRetiredWord(t *testing.T) {
	used := map[int]bool{}
	files := 0
	for _, name := range checkedFiles(t) {
		files++
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		found, err := check(name, source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, f := range found {
			if i := slices.IndexFunc(allowed, f.allowedBy); i >= 0 {
				used[i] = true
			} else {
				t.Error(f)
			}
		}
	}
	if files < 100 {
		t.Fatalf("only %d files below %s", files, root)
	}
	for i, a := range allowed {
		if !used[i] {
			t.Errorf("%q is allowed in %q but not used: remove the line", a.word, a.files)
		}
	}
}

// check returns the retired words of one file.
func check(name string, source []byte) ([]finding, error) {
	list, err := texts(name, source)
	if err != nil {
		return nil, err
	}
	found := retiredIn(list)
	for i := range found {
		found[i].file = name
	}
	return found, nil
}

// retiredIn returns the retired words of texts, without the name of their file.
func retiredIn(list []text) []finding {
	var found []finding
	for _, t := range list {
		split := proseWords
		if t.place == names {
			split = nameWords
		}
		words := " " + strings.Join(split(t.words), " ") + " "
		for _, r := range retired {
			if r.in&t.place == 0 {
				continue
			}
			for _, form := range r.forms {
				if i := strings.Index(words, " "+form+" "); i >= 0 {
					around := words[max(0, i-30):min(len(words), i+len(form)+30)]
					found = append(found, finding{"", t.line, form, strings.TrimSpace(around), r.use})
				}
			}
		}
	}
	return found
}

func (f finding) allowedBy(a struct{ word, files, reason string }) bool {
	return a.word == f.word && (a.files == "" || within(f.file, []string{a.files}))
}

// within reports whether a pattern names the file: itself, a folder above it
// (with a trailing slash) or a path.Match pattern.
func within(file string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if strings.HasSuffix(pattern, "/") {
			return strings.HasPrefix(file, pattern)
		}
		match, err := path.Match(pattern, file)
		return match && err == nil
	})
}

// checkedFiles walks the tree itself: `go test` then knows what the result
// depends on, and a cached run cannot hide a new word.
func checkedFiles(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && isSkipped(d.Name()) {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(root, file)
		if err == nil && !d.IsDir() && isChecked(filepath.ToSlash(rel)) {
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func isSkipped(folder string) bool {
	return strings.HasPrefix(folder, ".") ||
		slices.Contains([]string{"testdata", "node_modules", "dist", "bin", "secrets"}, folder)
}

func isChecked(file string) bool {
	return slices.Contains([]string{".go", ".ts", ".tsx", ".mjs", ".sql", ".md"}, path.Ext(file)) ||
		file == "Makefile" || file == "Dockerfile" || path.Dir(file) == "scripts"
}

func TestTheCheckFindsSeededWords(t *testing.T) {
	for _, c := range []struct {
		place, file, source string
		want                []string
	}{
		{"a function's name", "a.go", "package a\n\nfunc huntAll() {}\n", []string{"hunt"}},
		{"a part of a name behind an abbreviation", "a.go", "package a\n\nvar urlHunt int\n", []string{"hunt"}},
		{"a Go comment", "a.go", "package a\n\n// x hunts.\nvar x int\n", []string{"hunts"}},
		{
			"a phrase across two lines", "a.go",
			"package a\n\n// x is the end. The rest\n// is y.\nvar x int\n",
			[]string{"the rest is"},
		},
		{"a file's name", "hunt_test.go", "package a\n", []string{"hunt"}},
		{"a TypeScript name", "a.tsx", "const huntRun = /[\"']/; const y = 1;\n", []string{"hunt"}},
		{"a TypeScript comment", "a.ts", "const x = 'it'; // a hunt\n", []string{"hunt"}},
		{"a block comment", "a.ts", "/* one\n * hunt */\n", []string{"hunt"}},
		{"an SQL comment", "a.sql", "-- a hunt\nSELECT 1; -- and a parcel\n", []string{"hunt", "parcel"}},
		{"a comment of make", "Makefile", "# a hunt\nx: ## hunts\n", []string{"hunt", "hunts"}},
		{"a document", "a.md", "A hunt.\n\n```\nparcel\n```\n\nThe `deed` column.\n", []string{"hunt"}},
		{"a word within another word is fine", "a.go", "package a\n\n// shunts\nvar heedlessly, sheep int\n", nil},
		{"strings are not checked", "a.go", "package a\n\nconst x = \"hunt\"\n", nil},
		{"strings of TypeScript are not checked", "a.ts", "const x = `hunt` + 'hunt' + \"// hunt\";\n", nil},
		{"code in a comment is not checked", "a.go", "package a\n\n// x is `hunt`.\nvar x int\n", nil},
	} {
		t.Run(c.place, func(t *testing.T) {
			found, err := check(c.file, []byte(c.source))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.word)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAFindingNamesTheReplacement(t *testing.T) {
	found, err := check("x/a.go", []byte("package a\n\nfunc mourn() {}\n"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	const want = `x/a.go:3: "mourn" in "mourn" is retired: use wait for the exit`
	if got := found[0].String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
