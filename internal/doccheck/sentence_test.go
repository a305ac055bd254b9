package doccheck

import (
	"regexp"
	"strings"
)

var (
	mark     = regexp.MustCompile(`\[\^([\w-]+)\]`)                 // of a footnote, behind a sentence
	footnote = regexp.MustCompile(`^\[\^([\w-]+)\]: `)              // begins a footnote
	end      = regexp.MustCompile(`[.!?](?:\[\^[\w-]+\])*(?:\s|$)`) // of a sentence
	item     = regexp.MustCompile(`^\s*(?:-|\d+\.) `)
	caseHead = regexp.MustCompile(`^\|\s*number\s*\|`) // of a table with cases
	caseRow  = regexp.MustCompile(`^\|\s*\d+\s*\|`)    // docs/catalogue.md names the tests of such a case
)

// sentence is a sentence of a paragraph, of an item of a list, or of a row of a table, without the
// marks of footnotes. A row or an item without a full stop is one sentence.
type sentence struct {
	number int // of the line where its paragraph, item or row begins
	text   string
	marked bool // it has a footnote; or its table's head has one, or the line "…:" before its list
}

// block is a paragraph, an item or a row, on one line.
type block struct {
	number int
	text   string
	row    bool
	item   bool
	marked bool // the head of its table is marked
}

// sentences returns the page's sentences. Headings, code, figures, cases of the catalogue, and
// sentences that end with a colon and have no footnote are left out.
func (p page) sentences() []sentence {
	var all []sentence
	covered := false // the list that begins here is marked as a whole
	for _, b := range p.blocks() {
		if !b.item && !b.row {
			covered = false
		}
		rest := b.text
		for rest != "" {
			n := len(rest)
			if at := end.FindStringIndex(rest); at != nil {
				n = at[1]
			}
			text := strings.Trim(mark.ReplaceAllString(rest[:n], ""), " |")
			marked := mark.MatchString(rest[:n])
			rest = rest[n:]
			isLead := strings.HasSuffix(text, ":")
			if isLead && !b.item && !b.row {
				covered = marked
			}
			if text == "" || isLead && !marked {
				continue
			}
			all = append(all, sentence{b.number, text, marked || b.marked || covered && b.item})
		}
	}
	return all
}

// blocks joins the lines of paragraphs and items.
func (p page) blocks() []block {
	var all []block
	open, inNote := false, false
	head := ""
	for _, l := range p.lines {
		text := strings.TrimSpace(l.text)
		isRow := strings.HasPrefix(text, "|")
		inNote = text != "" && (inNote || footnote.MatchString(text))
		switch {
		case l.code || l.figures || text == "" || inNote || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "<!--"):
			open, head = false, ""
		case isRow && head == "":
			open, head = false, text
		case isRow:
			isCase := caseHead.MatchString(head) && caseRow.MatchString(text)
			if strings.Trim(text, "|-: ") != "" && !isCase {
				all = append(all, block{number: l.number, text: text, row: true, marked: mark.MatchString(head)})
			}
		case item.MatchString(l.text):
			all = append(all, block{number: l.number, text: item.ReplaceAllString(l.text, ""), item: true})
			open, head = true, ""
		case open:
			all[len(all)-1].text += " " + text
		default:
			all = append(all, block{number: l.number, text: text})
			open, head = true, ""
		}
	}
	return all
}

// note is the text of a footnote; used is set when a sentence has its mark.
type note struct {
	text string
	used bool
}

// footnotes returns the page's footnotes by label. Their further lines are indented.
func (p page) footnotes() map[string]*note {
	all := map[string]*note{}
	var current *note
	for _, l := range p.lines {
		found := footnote.FindStringSubmatch(l.text)
		switch {
		case found != nil:
			current = &note{text: strings.TrimPrefix(l.text, found[0])}
			all[found[1]] = current
		case current != nil && strings.HasPrefix(l.text, "    "):
			current.text += " " + strings.TrimSpace(l.text)
		default:
			current = nil
		}
	}
	return all
}
