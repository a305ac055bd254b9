package policy

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var update = flag.Bool("update", false, "write the decisions of testdata/bypass again")

// bypassDir holds commands and calls that try to get around the rules, and plain ones
// that must stay usable. Each line of a file has the decision of the built-in rules,
// the decision of permissive.yaml and the command; @@ stands for a line end.
const bypassDir = "testdata/bypass"

// minBypasses is the size of the corpus. It only grows.
const minBypasses = 1409

// bypass is one line of the corpus.
type bypass struct {
	builtIn, permissive string
	text                string
	call                Call
}

var decided = regexp.MustCompile(`^(?:allow|confirm|deny) +(?:INFO|WARN|CRITICAL) *$`)

// bypassLinks stands for the file system of the corpus: it returns the targets of links that
// lead outside the workspace, EINVAL for directories, and ErrNotExist for other paths.
func bypassLinks(path string) (string, error) {
	switch path {
	case "/ws/out":
		return "../outside", nil
	case "/ws/link":
		return "../victim", nil
	case "/ws", "/outside", "/victim", "/home", "/home/u", "/tmp",
		"/ws/.", "/ws/src", "/ws/src/.", "/ws/out/.", "/outside/.", "/ws/d", "/ws/d/.", "/ws/.git":
		return "", syscall.EINVAL
	}
	return "", os.ErrNotExist
}

func readBypasses(t testing.TB, file string) (list []bypass) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "## ") {
			continue
		}
		b := bypass{text: line}
		if parts := strings.SplitN(line, " | ", 3); len(parts) == 3 && decided.MatchString(parts[0]) {
			b = bypass{strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), parts[2], Call{}}
		}
		b.call = bash(strings.ReplaceAll(b.text, "@@", "\n"))
		if filepath.Base(file) == "tools.txt" {
			name, input, _ := strings.Cut(b.text, " ")
			b.call = tool(name, json.RawMessage(input))
		}
		list = append(list, b)
	}
	return list
}

func permissive(t testing.TB, o Options) *Engine {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(bypassDir, "permissive.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse(content, "permissive.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func bypassFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(bypassDir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	return files
}

func TestTheCorpusOfBypasses(t *testing.T) {
	t.Parallel()
	o := Options{Home: "/home/u", Links: bypassLinks}
	builtIn, operator := Default(o), permissive(t, o)
	total := 0
	for _, file := range bypassFiles(t) {
		list := readBypasses(t, file)
		total += len(list)
		var out strings.Builder
		for _, b := range list {
			x, y := outcome(builtIn.Decide(b.call)), outcome(operator.Decide(b.call))
			fmt.Fprintf(&out, "%-16s | %-16s | %s\n", x, y, b.text)
			if !*update && (x != b.builtIn || y != b.permissive) {
				t.Errorf("%s: %s\n  is   %s, %s\n  want %s, %s", filepath.Base(file), b.text, x, y, b.builtIn, b.permissive)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if total < minBypasses {
		t.Errorf("the corpus has %d cases, fewer than %d: it only grows", total, minBypasses)
	}
}
