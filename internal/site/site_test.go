package site

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnchorsEqualGitHubs(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]string{
		"1.6 Relay":                              "16-relay",
		"1.1 Check-in: `POST /api/agent`":        "11-check-in-post-apiagent",
		"The AI SDK's own format":                "the-ai-sdks-own-format",
		"[Agents](agents.md) and *policy*":       "agents-and-policy",
		"2.2 Status, and programs in workspaces": "22-status-and-programs-in-workspaces",
	} {
		if got := Anchor(heading); got != want {
			t.Errorf("%s: %s, want %s", heading, got, want)
		}
	}
}

var reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// Every link of every written page leads to a file of the site, and to an id that this file has.
func TestEveryLinkOfTheWrittenSiteLeadsSomewhere(t *testing.T) {
	t.Parallel()
	folder := build(t)
	links, pages := 0, 0
	err := filepath.WalkDir(folder, func(file string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".html" {
			return err
		}
		pages++
		for _, found := range reference.FindAllStringSubmatch(content(t, file), -1) {
			if external.MatchString(found[1]) {
				continue
			}
			links++
			target, anchor, _ := strings.Cut(found[1], "#")
			to := file
			if target != "" {
				to = filepath.Join(filepath.Dir(file), target)
			}
			if info, err := os.Stat(to); err != nil || info.IsDir() {
				t.Errorf("%s: %s is no file of the site", file, found[1])
			} else if anchor != "" && !strings.Contains(content(t, to), `id="`+anchor+`"`) {
				t.Errorf("%s: %s has no such id", file, found[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 60 || links < 3000 {
		t.Errorf("only %d links on %d pages", links, pages)
	}
}

func build(t *testing.T) (folder string) {
	t.Helper()
	s, err := Read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	if err := s.Write(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

var contents = map[string]string{}

func content(t *testing.T, file string) string {
	t.Helper()
	if _, ok := contents[file]; !ok {
		read, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		contents[file] = string(read)
	}
	return contents[file]
}

// The search finds text of a section by its anchor; comments and code of the layout are not in it.
func TestTheIndexHasTheTextOfSections(t *testing.T) {
	t.Parallel()
	folder := build(t)
	index := content(t, filepath.Join(folder, "index.js"))
	for _, want := range []string{
		`{"p":"Operations","t":"Failover","u":"operations.html#failover","x":"`,
		`{"p":"Bellhop","t":"Bellhop","u":"index.html","x":"Bellhop is a session broker for remote coding agents.`,
		`B=$(jq -r .brokerUrl .bellhop/dev.json)`,
	} {
		if !strings.Contains(index, want) {
			t.Errorf("the index has no %s", want)
		}
	}
	if strings.Contains(index, "<!--") {
		t.Error("the index has comments of HTML")
	}
}

// small is a repository with the pages that the navigation names.
func small() fstest.MapFS {
	files := fstest.MapFS{"code.go": {Data: []byte("package code")}, "docs/adr/0001-one.md": {Data: []byte("# 1. One")}}
	for _, c := range navigation {
		for _, file := range c.files {
			if file != decisions {
				files[file] = &fstest.MapFile{Data: []byte("# Title\n\n## Part\n")}
			}
		}
	}
	return files
}

func TestFaultsOfTheDocumentationFailTheBuild(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, text, want string }{
		{
			"a page that does not exist", "docs/faq.md", "# A\n[b](none.md)",
			"docs/faq.md: none.md: docs/none.md does not exist",
		},
		{
			"a heading that does not exist", "docs/faq.md", "# A\n[b](console.md#none)",
			"docs/faq.md: console.md#none: docs/console.md has no heading #none",
		},
		{
			"a heading of the same page", "docs/faq.md", "# A\n[b](#none)",
			"docs/faq.md: #none: docs/faq.md has no heading #none",
		},
		{
			"a heading of a file", "docs/faq.md", "# A\n[b](../code.go#x)",
			"docs/faq.md: ../code.go#x: code.go is no page, so it has no headings",
		},
		{"an image that does not exist", "docs/faq.md", "# A\n![b](b.png)", "docs/faq.md: b.png: docs/b.png does not exist"},
		{"a file outside", "docs/faq.md", "# A\n[b](../../secret)", "docs/faq.md: ../../secret: ../secret does not exist"},
		{"a page without a title", "docs/faq.md", "text", "docs/faq.md does not begin with a title"},
		{"a page out of reach", "docs/new.md", "# New", "docs/new.md is not in the navigation of internal/site"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := small()
			files[c.file] = &fstest.MapFile{Data: []byte(c.text)}
			if _, err := Read(files); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	files := small()
	delete(files, "docs/faq.md")
	if _, err := Read(files); err == nil || err.Error() != "the navigation has docs/faq.md, which does not exist" {
		t.Errorf("error %v", err)
	}
}

// Links lead from each folder to pages and files; text of a page is never HTML of the site.
func TestPagesAreLinkedAndEscaped(t *testing.T) {
	t.Parallel()
	files := small()
	files["docs/tutorials/app.md"] = &fstest.MapFile{Data: []byte("# T <b>\n\n" +
		"[c](../../code.go) [h](../../README.md#part) " +
		"[d](../adr) [e](https://example.com)\n\n<script>alert(1)</script>\n\n[j](javascript:alert(1))\n")}
	s, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	page, err := s.render(s.pages["docs/tutorials/app.md"])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`href="../files/code.go.txt"`, `href="../index.html#part"`, `href="../adr/index.html"`,
		`href="https://example.com"`,
		`<link rel="stylesheet" href="../style.css">`, `<a href="../tutorials/app.html" aria-current="page">`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, unwanted := range []string{"<b>", "alert(1)</script>", "javascript:"} {
		if strings.Contains(string(page), unwanted) {
			t.Errorf("the page has %s", unwanted)
		}
	}
}
