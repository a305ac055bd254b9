package doccheck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/internal/site"
)

const root = "../.."

// page is a Markdown file; name is its path below the root.
type page struct {
	name  string
	lines []line
}

// line is a line of a page. code is set in code blocks.
type line struct {
	number int
	text   string
	code   bool
}

// pages reads every Markdown file of the repository. It skips hidden directories, test data, builds and
// node_modules.
func pages(t *testing.T) []page {
	t.Helper()
	all, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d pages below %s", len(all), root)
	}
	return all
}

var readOnce = sync.OnceValues(readPages)

func readPages() (all []page, err error) {
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root && (strings.HasPrefix(d.Name(), ".") ||
				slices.Contains([]string{"node_modules", "testdata", "dist"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".md" {
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		all = append(all, page{filepath.ToSlash(name), linesOf(string(content))})
		return err
	})
	return all, err
}

func linesOf(content string) (lines []line) {
	code := false
	for i, text := range strings.Split(content, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(text), "```")
		if fence {
			code = !code
		}
		lines = append(lines, line{number: i + 1, text: text, code: code || fence})
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
