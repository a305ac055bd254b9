package doccheck

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bellhop/internal/site"
)

const root = "../.."

// page is a Markdown file; name is its path below the root.
type page struct {
	name  string
	lines []line
}

// line is a line of a page. code is set in code blocks, figures between the markers of
// docs/benchmarks.md, of docs/metrics.md and of the report in docs/reliability.md.
type line struct {
	number        int
	text          string
	code, figures bool
}

// pages reads every Markdown file of the repository.
func pages(t *testing.T) []page {
	t.Helper()
	var all []page
	walk(t, ".md", func(file, name string) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page{name, linesOf(string(content))})
	})
	if len(all) < 20 {
		t.Fatalf("only %d pages below %s", len(all), root)
	}
	return all
}

func linesOf(content string) (lines []line) {
	var code, figures bool
	for i, text := range strings.Split(content, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(text), "```")
		if fence {
			code = !code
		}
		switch {
		case strings.HasPrefix(text, "<!-- figures"), strings.HasPrefix(text, "<!-- the report"),
			strings.HasPrefix(text, "<!-- metrics of"):
			figures = true
		case strings.HasPrefix(text, "<!-- end "):
			figures = false
		}
		lines = append(lines, line{number: i + 1, text: text, code: code || fence, figures: figures})
	}
	return lines
}

var (
	codeSpan = regexp.MustCompile("`[^`]*`")
	linkTo   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	external = regexp.MustCompile(`^[a-z]+:`)
)

// links returns the targets of the line's links that stay in the repository.
func (l line) links() []string {
	if l.code {
		return nil
	}
	var targets []string
	for _, found := range linkTo.FindAllStringSubmatch(codeSpan.ReplaceAllString(l.text, "code"), -1) {
		if !external.MatchString(found[1]) {
			targets = append(targets, found[1])
		}
	}
	return targets
}

// anchors returns the anchors of the page's headings. A heading that stands twice
// gets a number, as on GitHub.
func (p page) anchors() map[string]bool {
	all := map[string]bool{}
	for _, l := range p.lines {
		marks, heading, ok := strings.Cut(l.text, " ")
		if !ok || l.code || marks == "" || strings.Trim(marks, "#") != "" {
			continue
		}
		anchor := site.Anchor(heading)
		for n := 1; all[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", site.Anchor(heading), n)
		}
		all[anchor] = true
	}
	return all
}

// exists reports whether a path below the root exists.
func exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(root, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// source is the text of a Go file, or one of its comments on one line.
type source struct{ file, text string }

// sources reads the Go files of the repository, tests left out.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	walk(t, ".go", func(file, name string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{name, string(content)})
	})
	return all
}

// comments reads the comments of every Go file of the repository.
func comments(t *testing.T) []source {
	t.Helper()
	var all []source
	walk(t, ".go", func(file, name string) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range parsed.Comments {
			all = append(all, source{name, strings.Join(strings.Fields(group.Text()), " ")})
		}
	})
	return all
}

// walk calls visit for every file with the extension. It skips hidden directories,
// test data, builds and node_modules.
func walk(t *testing.T, extension string, visit func(file, name string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root &&
				(strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "dist") {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != extension {
			return nil
		}
		name, err := filepath.Rel(root, file)
		if err == nil {
			visit(file, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
