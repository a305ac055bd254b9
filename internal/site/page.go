package site

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// markdown reads what GitHub reads. HTML in a page is left out: the pages have only comments.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// page is a Markdown file.
type page struct {
	file     string // its path in the repository
	title    string
	source   []byte
	tree     ast.Node
	anchors  anchors
	headings []heading
}

type heading struct {
	Level        int
	Anchor, Text string
}

func parse(file string, source []byte) (*page, error) {
	p := &page{file: file, source: source, anchors: anchors{}}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(
		parser.NewContext(parser.WithIDs(p.anchors)),
	))
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			p.headings = append(p.headings, heading{h.Level, string(anchor), plain(h, source)})
		}
	}
	if len(p.headings) == 0 || p.headings[0].Level != 1 {
		return nil, fmt.Errorf("%s does not begin with a title", file)
	}
	p.title = p.headings[0].Text
	return p, nil
}

// plain returns the text of a node without its form.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				b.WriteByte(' ')
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
				b.WriteByte(' ')
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// html renders the page.
func (p *page) html() (string, error) {
	var b bytes.Buffer
	err := markdown.Renderer().Render(&b, p.source, p.tree)
	out := strings.ReplaceAll(b.String(), "<!-- raw HTML omitted -->\n", "")
	// A table or a block of code that is wider than a phone scrolls, and then the keyboard has to reach it.
	out = strings.ReplaceAll(out, "<table>", `<div class="wide" tabindex="0" role="group" aria-label="Table"><table>`)
	out = strings.ReplaceAll(out, "</table>", "</table></div>")
	out = strings.ReplaceAll(out, "<pre>", `<pre tabindex="0">`)
	return out, err
}

// contents are the headings below the title, without the deepest ones.
func (p *page) contents() []heading {
	var list []heading
	for _, h := range p.headings[1:] {
		if h.Level <= 3 {
			list = append(list, h)
		}
	}
	return list
}
