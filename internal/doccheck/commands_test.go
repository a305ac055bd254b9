package doccheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// commandsFile says of every block of commands which test runs it, or why none does.
const commandsFile = "testdata/commands.txt"

// shellBlock is a block of commands of a page.
type shellBlock struct {
	page  string
	line  int
	text  string
	first string // its first line, without the comment at its end
}

// excuses are the reasons why a block is not run, each with what must be in the block.
var excuses = map[string]*regexp.Regexp{
	"example":   regexp.MustCompile(`…|example\.com`),
	"network":   regexp.MustCompile(`npm (ci|install|pack)|agents install|docker|claude mcp|make dev|npx`),
	"long":      regexp.MustCompile(`bellhop (bench|torture)|make `),
	"release":   regexp.MustCompile(`(apt|dnf) install|cosign verify|openssl dgst|docker load`), // of a release's files
	"system":    regexp.MustCompile(`journalctl|systemctl`),
	"server":    regexp.MustCompile(`(?m)^(?:\w+=\S+ )*bellhop (dev|serve|host)\b`),
	"variables": regexp.MustCompile(`\$(BROKER|USER_TOKEN|NOTEBOOK|SOURCE|B|T|ID)\b`),
	"terminal":  regexp.MustCompile(`bellhop (chat|attach)`),
	"installed": regexp.MustCompile(`bellhop (agents|conformance)`),
	"dev":       regexp.MustCompile(`\.bellhop/`),
}

// testName matches a test of Go, a story, or a file of tests of the console.
var testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`|`(stories/[a-z-]+\\.txtar)`|" +
	"`(web/[\\w/-]+\\.(?:test|spec)\\.tsx?)`")

// needTest are the excuses that name a test, which does the same in another way.
var needTest = []string{"server", "variables", "terminal", "installed", "dev", "long", "release"}

// Every block of commands is run by a test, or listed with a reason that holds.
func TestEveryBlockOfCommandsIsRunOrExcused(t *testing.T) {
	t.Parallel()
	listed := readCommands(t)
	known := knownTests{}
	for _, b := range blocks(t) {
		how, ok := listed[b.page+" | "+b.first]
		delete(listed, b.page+" | "+b.first)
		kind, test, _ := strings.Cut(how, ": ")
		kind, test = strings.TrimSpace(kind), strings.TrimSpace(test)
		switch pattern := excuses[kind]; {
		case !ok:
			t.Errorf("%s:%d: no test runs the block %q\nHint: run it in a test, and name the test in %s, or the reason.",
				b.page, b.line, b.first, commandsFile)
		case kind == "run":
			expectRun(t, known, b, test)
		case pattern == nil:
			t.Errorf("%s: %q is no reason", commandsFile, kind)
		case !pattern.MatchString(b.text):
			t.Errorf("%s:%d: the reason %q does not hold for the block %q", b.page, b.line, kind, b.first)
		case slices.Contains(needTest, kind):
			expectTest(t, known, b, test)
		}
	}
	for left := range listed {
		t.Errorf("%s lists %q, which no page has", commandsFile, left)
	}
}

// expectRun fails unless a test exists in a folder whose tests read the page.
func expectRun(t *testing.T, known knownTests, b shellBlock, test string) {
	t.Helper()
	expectTest(t, known, b, test)
	folder, _, _ := strings.Cut(test, ".Test")
	if strings.HasPrefix(test, "stories/") {
		folder = "cmd/bellhop"
	}
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(content); strings.Contains(text, `"`+path.Base(b.page)+`"`) ||
			strings.Contains(text, `"`+path.Base(path.Dir(b.page))+`"`) {
			return
		}
	}
	t.Errorf("%s says that %s runs %s, but no test of its folder reads that page", commandsFile, test, b.page)
}

func expectTest(t *testing.T, known knownTests, b shellBlock, test string) {
	t.Helper()
	found := testName.FindAllStringSubmatch("`"+test+"`", -1)
	if len(found) != 1 {
		t.Errorf("%s:%d: %q is no test", b.page, b.line, test)
	}
	known.expect(t, found)
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

// Every block is correct for a shell, and its targets of make exist.
func TestBlocksOfCommandsAreCorrect(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	all, targets := blocks(t), 0
	if len(all) < 20 {
		t.Fatalf("only %d blocks found", len(all))
	}
	for _, b := range all {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(b.text), b.page)
		if err != nil {
			t.Errorf("%s:%d: %v", b.page, b.line, err)
			continue
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) < 2 || call.Args[0].Lit() != "make" {
				return true
			}
			targets++
			if target := call.Args[1].Lit(); !strings.Contains(string(makefile), "\n"+target+":") {
				t.Errorf("%s:%d: the Makefile has no target %s", b.page, b.line, target)
			}
			return true
		})
	}
	if targets < 3 {
		t.Fatalf("only %d targets found", targets)
	}
}

// blocks returns the blocks of commands of all pages.
func blocks(t *testing.T) []shellBlock {
	t.Helper()
	var all []shellBlock
	for _, p := range pages(t) {
		var open *shellBlock
		for _, l := range p.lines {
			switch {
			case l.text == "```sh":
				open = &shellBlock{page: p.name, line: l.number}
			case open != nil && l.text == "```":
				first, _, _ := strings.Cut(open.text, "\n")
				first, _, _ = strings.Cut(first, "  #")
				open.first = strings.TrimSpace(first)
				all = append(all, *open)
				open = nil
			case open != nil:
				open.text += l.text + "\n"
			}
		}
	}
	return all
}

// readCommands returns the list: how, by page and first line.
func readCommands(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(commandsFile)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, " => ")
		if at < 0 {
			t.Fatalf("%s: %q is no entry", commandsFile, line)
		}
		listed[line[:at]] = line[at+4:]
	}
	return listed
}
