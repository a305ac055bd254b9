package site

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

var (
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notAnchors = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// Anchor returns the anchor that GitHub gives to a heading, from its Markdown.
func Anchor(heading string) string {
	heading = linkText.ReplaceAllString(strings.TrimSpace(heading), "$1")
	heading = notAnchors.ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(heading, " ", "-")
}

// anchors gives the headings of one page their ids. A heading that stands twice gets a number, as on GitHub.
type anchors map[string]bool

// Generate is called by goldmark for each heading, with its Markdown.
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	first := Anchor(string(heading))
	anchor := first
	for n := 1; a[anchor]; n++ {
		anchor = fmt.Sprintf("%s-%d", first, n)
	}
	a[anchor] = true
	return []byte(anchor)
}

// Put is called by goldmark for ids that stand in the text; the pages have none.
func (a anchors) Put(anchor []byte) { a[string(anchor)] = true }
