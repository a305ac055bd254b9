package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// quotedCommand is a command between quotes in a string of the code: 'bellhop hosts add'.
var quotedCommand = regexp.MustCompile("['`]bellhop ([a-z]+[^'`\n]*)['`]")

// An operator who reads a hint types the command that it names.
func TestHintsNameCommandsAndFlagsThatExist(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("bellhop"), helpVars())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	err = filepath.WalkDir(projectRoot, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && entry.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, found := range quotedCommand.FindAllSubmatch(content, -1) {
			count++
			if unknown := unknownWord(parser.Model.Node, strings.Fields(string(found[1]))); unknown != "" {
				t.Errorf("%s: %s has no %q", path, found[0], unknown)
			}
		}
		return err
	})
	if err != nil || count < 30 {
		t.Errorf("%d commands were found, %v", count, err)
	}
}

// unknownWord returns the first word that is neither a command, a flag nor an argument.
func unknownWord(node *kong.Node, words []string) string {
	for i, word := range words {
		if name, isFlag := strings.CutPrefix(word, "--"); isFlag {
			if !hasFlag(node, name) && (node.DefaultCmd == nil || !hasFlag(node.DefaultCmd, name)) {
				return word
			}
			continue
		}
		if i > 0 && (strings.HasPrefix(words[i-1], "--") || len(node.Children) == 0) {
			continue // a flag's value, or an argument
		}
		child := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		if child < 0 {
			return word
		}
		node = node.Children[child]
	}
	return ""
}

func hasFlag(node *kong.Node, name string) bool {
	return slices.ContainsFunc(node.AllFlags(false), func(group []*kong.Flag) bool {
		return slices.ContainsFunc(group, func(f *kong.Flag) bool { return f.Name == name })
	})
}

// kong shows a line that begins with white space as it is: two spaces mean an example. A tab there
// comes from a text whose source was indented, and tears a paragraph apart.
func TestHelpTextsAreParagraphsAndExamples(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("bellhop"), helpVars())
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		for line := range strings.Lines(leaf.Detail) {
			example := strings.HasPrefix(line, "  ")
			if strings.Contains(line, "\t") || strings.HasPrefix(line, " ") && !example {
				t.Errorf("bellhop %s --help: %q", leaf.Path(), line)
			}
		}
	}
}
