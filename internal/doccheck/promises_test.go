package doccheck

import (
	"os"
	"strings"
	"testing"
)

// noPromise lists sentences that promise nothing, below the names of their pages: explanations,
// steps for a reader, limits. The pages that it names are checked; of the others, their footnotes.
const noPromise = "testdata/no-promise.txt"

// Every sentence of these pages that promises something has a footnote with the tests that hold it.
// A new sentence without one must be listed.
func TestEveryPromiseNamesItsTests(t *testing.T) {
	known := knownTests{}
	list := readNoPromise(t)
	for _, p := range pages(t) {
		p.checkFootnotes(t, known)
		others, checked := list[p.name]
		if !checked {
			continue
		}
		delete(list, p.name)
		for _, s := range p.sentences() {
			if s.marked {
				continue
			}
			if !others[s.text] {
				t.Errorf("%s:%d: %q names no test\nHint: add a footnote that names one. If the sentence promises "+
					"nothing, add it to %s.",
					p.name, s.number, s.text, noPromise)
			}
			others[s.text] = false
		}
		for text, unused := range others {
			if unused {
				t.Errorf("%s lists %q, which %s does not have, or with a footnote", noPromise, text, p.name)
			}
		}
	}
	for name := range list {
		t.Errorf("%s names %s, which does not exist", noPromise, name)
	}
}

// checkFootnotes fails for a footnote that names anything but tests, for one that no sentence has,
// and for a mark without one.
func (p page) checkFootnotes(t *testing.T, known knownTests) {
	t.Helper()
	notes := p.footnotes()
	for _, l := range p.lines {
		for _, found := range mark.FindAllStringSubmatch(l.text, -1) {
			if note, defined := notes[found[1]]; !defined {
				t.Errorf("%s:%d: there is no footnote %s", p.name, l.number, found[0])
			} else if footnote.FindString(l.text) == "" {
				note.used = true
			}
		}
	}
	for label, note := range notes {
		found := testName.FindAllStringSubmatch(note.text, -1)
		if len(found) == 0 || strings.Count(note.text, "`") != 2*len(found) {
			t.Errorf("%s: the footnote %s names no test, or one in another form: %s", p.name, label, note.text)
		}
		if !note.used {
			t.Errorf("%s: no sentence has the footnote %s", p.name, label)
		}
		known.expect(t, found)
	}
}

// readNoPromise returns the listed sentences of each page.
func readNoPromise(t *testing.T) map[string]map[string]bool {
	t.Helper()
	content, err := os.ReadFile(noPromise)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]map[string]bool{}
	name := ""
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if heading, isPage := strings.CutPrefix(line, "# "); isPage {
			name = heading
			list[name] = map[string]bool{}
		} else if line != "" {
			list[name][line] = true
		}
	}
	return list
}

func TestSentences(t *testing.T) {
	text := "# Heading\n\nOne is kept.[^a] Two is\nkept (see `a.b`). Which:\n\n- an item[^b]\n  goes on\n- another\n\n" +
		"| head | of it |\n|---|---|\n| a cell | is one. Is two.[^c] |\n| 410 | is no case |\n\n" +
		"| number | input |\n|---|---|\n| 7 | a case |\n\n" +
		"All of these:[^d]\n\n1. covered\n\n| covered[^d] | too |\n|---|---|\n| by | the head |\n\n" +
		"```\nNot this. Nor this.\n```\n<!-- a comment -->\n[^a]: `p.TestA`\n    `p.TestB`\n"
	p := page{name: "p.md", lines: linesOf(text)}
	var got []string
	for _, s := range p.sentences() {
		sign := "- "
		if s.marked {
			sign = "+ "
		}
		got = append(got, sign+s.text)
	}
	want := []string{
		"+ One is kept.", "- Two is kept (see `a.b`).", "+ an item goes on", "- another",
		"- a cell | is one.", "+ Is two.", "- 410 | is no case", "+ All of these:", "+ covered", "+ by | the head",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if notes := p.footnotes(); len(notes) != 1 || notes["a"].text != "`p.TestA` `p.TestB`" {
		t.Errorf("footnotes: %+v", notes)
	}
}
