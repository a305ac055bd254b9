package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// row of a table. beside is the reference of the same run, ratio the figure divided
// by it, bound the limit of the figure.
type row struct {
	what, figure, beside, ratio, bound string
}

type table struct {
	name string // of the scenario
	rows []row
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

func scenarioNames() string {
	var names []string
	for i := range scenarios {
		names = append(names, scenarios[i].name)
	}
	return strings.Join(names, " ")
}

// The tables of a document stand between these lines.
const (
	beginMarker = "<!-- figures: written by make bench -->"
	endMarker   = "<!-- end of figures -->"
)

var errNoMarkers = errors.New("the file has no markers for the figures")

// writeTables replaces the tables of the scenarios that were run. Those of other
// scenarios remain; tables of unknown scenarios are removed.
func writeTables(ctx context.Context, path string, tables []table) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found1 := bytes.Cut(content, []byte(beginMarker))
	old, after, found2 := bytes.Cut(rest, []byte(endMarker))
	if !found1 || !found2 {
		return fmt.Errorf("%s: %w", path, errNoMarkers)
	}
	sections := sectionsOf(string(old))
	taken := circumstances(ctx)
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(beginMarker + "\n")
	for _, s := range scenarios {
		for _, t := range tables {
			if t.name == s.name {
				sections[s.title] = taken + "\n\n" + strings.TrimSpace(markdown(t.rows))
			}
		}
		if section, ok := sections[s.title]; ok {
			b.WriteString("\n### " + s.title + "\n\n" + section + "\n")
		}
	}
	b.WriteString("\n" + endMarker)
	b.Write(after)
	return os.WriteFile(path, b.Bytes(), 0o644) //nolint:gosec // a document
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
