package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
)

// row of a table. beside is the reference of the same run, ratio the figure divided
// by it, bound the limit of the figure.
type row struct {
	what, figure, beside, ratio, bound string
}

// adding returns the row with another figure.
func (r row) adding(figure string) row {
	r.figure += ", " + figure
	return r
}

func markdown(rows []row) string {
	var b strings.Builder
	b.WriteString("| what | figure | beside | ratio (least–most) | bounded by |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n",
			r.what, r.figure, cmp.Or(r.beside, "–"), cmp.Or(r.ratio, "–"), cmp.Or(r.bound, "–"))
	}
	return b.String()
}

// The tables of a document stand between these lines.
const (
	beginMarker = "<!-- figures: written by make bench -->"
	endMarker   = "<!-- end of figures -->"
)

// writeTables replaces the tables of the scenarios that were run, by their names.
// Those of other scenarios remain; tables of unknown scenarios are removed.
func writeTables(ctx context.Context, path string, tables map[string][]row) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(content), beginMarker)
	old, after, ends := strings.Cut(rest, endMarker)
	if !begins || !ends {
		return fmt.Errorf("%s has no markers for the figures", path)
	}
	sections, taken := sectionsOf(old), circumstances(ctx)
	var b strings.Builder
	b.WriteString(before + beginMarker + "\n")
	for _, s := range scenarios {
		if rows := tables[s.name]; rows != nil {
			sections[s.title] = taken + "\n\n" + strings.TrimSpace(markdown(rows))
		}
		if section, ok := sections[s.title]; ok {
			b.WriteString("\n### " + s.title + "\n\n" + section + "\n")
		}
	}
	b.WriteString("\n" + endMarker + after)
	return os.WriteFile(path, []byte(b.String()), 0o644) //nolint:gosec // a document
}

// sectionsOf returns the texts of a document by their titles.
func sectionsOf(text string) map[string]string {
	sections := map[string]string{}
	for i, section := range strings.Split("\n"+text, "\n### ") {
		if title, body, ok := strings.Cut(section, "\n"); ok && i > 0 {
			sections[title] = strings.TrimSpace(body)
		}
	}
	return sections
}
