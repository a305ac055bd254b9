package licenses

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const line = "--------------------------------------------------------------------------------"

// render prints the project's licence, and then each text of others once, below the names that
// it is for.
func render(t *testing.T, components []component) string {
	t.Helper()
	own, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("Bellhop is licensed under the Apache License, Version 2.0:\n\n" + strings.Trim(string(own), "\n") +
		"\n\n" + line + "\n\n" +
		"Bellhop contains software of others:\n\n")
	namesOf := map[string][]string{}
	for _, c := range components {
		b.WriteString("  " + c.title() + "\n")
		for _, text := range textsOf(c) {
			namesOf[text] = append(namesOf[text], c.title())
		}
	}
	texts := make([]string, 0, len(namesOf))
	for text := range namesOf {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(x, y string) int {
		return cmp.Or(cmp.Compare(namesOf[x][0], namesOf[y][0]), cmp.Compare(x, y))
	})
	for _, text := range texts {
		b.WriteString("\n" + line + "\n" + strings.Join(slices.Compact(namesOf[text]), "\n") + "\n" + line + "\n\n" + text +
			"\n")
	}
	return b.String()
}

func (c component) title() string {
	return strings.TrimSpace(c.name + " " + c.version)
}

// textsOf returns the licence files, or the licence's name for a package that brings no file.
func textsOf(c component) []string {
	if len(c.texts) > 0 {
		return c.texts
	}
	return []string{"License: " + c.license}
}
