package main

import (
	"strings"
	"testing"
)

// Users choose the names of their tokens, and administrators print them.
func TestTablesShowControlCharactersAsSpaces(t *testing.T) {
	var out strings.Builder
	rows := [][]string{{"1", "red\x1b[31m\u009b2J"}, {"2", "two\nlines\tand\ttabs"}}
	if err := table(&out, []string{"ID", "NAME"}, rows); err != nil {
		t.Fatal(err)
	}
	const want = "ID  NAME\n1   red [31m 2J\n2   two lines and tabs\n"
	if got := out.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
