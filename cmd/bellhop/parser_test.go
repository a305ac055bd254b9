package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// A command line that begins with a command's name is parsed without the other commands.
func TestACommandIsExplainedAloneAsAmongAll(t *testing.T) {
	t.Parallel()
	var among bytes.Buffer
	all := mustParser(t, "", &among)
	for _, top := range all.Model.Children {
		var alone bytes.Buffer
		parser := mustParser(t, top.Name, &alone)
		if names := len(parser.Model.Children); names != 1 && top.Name != manualName {
			t.Errorf("the parser of %s knows %d commands", top.Name, names)
		}
		for _, words := range pathsBelow(top) {
			for _, line := range [][]string{{"--help"}, {"--no-such-flag"}, {"no-such-word", "another"}, {}} {
				line = slices.Concat(words, line)
				among.Reset()
				alone.Reset()
				if want, got := outcome(all, &among, line), outcome(parser, &alone, line); got != want {
					t.Errorf("%s: got\n%s\nwant\n%s", strings.Join(line, " "), got, want)
				}
			}
		}
	}
}

func mustParser(t *testing.T, name string, out *bytes.Buffer) *kong.Kong {
	t.Helper()
	parser, err := newParser(&commandLine{}, name, out, out, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// pathsBelow returns the words of a command, and those of each command below it.
func pathsBelow(node *kong.Node) [][]string {
	paths := [][]string{{node.Name}}
	for _, child := range node.Children {
		for _, below := range pathsBelow(child) {
			paths = append(paths, append([]string{node.Name}, below...))
		}
	}
	return paths
}

// outcome returns what a parser prints, and its error with the flags that the hint names.
func outcome(parser *kong.Kong, out *bytes.Buffer, line []string) string {
	if _, err := parser.Parse(line); err != nil {
		return out.String() + err.Error() + missingSecretsHint(err)
	}
	return out.String()
}
