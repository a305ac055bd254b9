package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"strconv"
	"strings"
)

// columns is the longest line of the generated file.
const columns = 120

var word = regexp.MustCompile(`[A-Za-z0-9]+`)

// plain is the text of a comment in one line, "" without one.
func plain(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// translate replaces Go names in a comment: fields by their JSON names,
// string constants by their values, numbers by their TypeScript names.
func (g *generator) translate(text string, fields map[string]string) string {
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if name, ok := fields[w]; ok {
			return name
		}
		if name, ok := g.named[w]; ok {
			return name
		}
		return w
	})
}

// comment writes text as a JSDoc comment, on one line if it fits.
func (g *generator) comment(indent, text string) {
	if text == "" {
		return
	}
	if line := fmt.Sprintf("%s/** %s */", indent, text); len(line) <= columns {
		g.out.WriteString(line + "\n")
		return
	}
	g.out.WriteString(indent + "/**\n")
	line := indent + " *"
	for _, w := range strings.Fields(text) {
		if len(line)+1+len(w) > columns {
			g.out.WriteString(line + "\n")
			line = indent + " *"
		}
		line += " " + w
	}
	g.out.WriteString(line + "\n" + indent + " */\n")
}

// underscored writes a number in groups of three digits.
func underscored(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "_" + digits[i:]
	}
	return digits
}
