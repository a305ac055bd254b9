package workspace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/protocol"
)

func (k *kit) tryDiscardHunk(id, project, path, text string) (*protocol.DiscardResponse, error) {
	return k.tryDiscardHunkOf(k.shown(id, project).Snapshot, id, project, path, text)
}

func (k *kit) tryDiscardHunkOf(snapshot, id, project, path, text string) (*protocol.DiscardResponse, error) {
	req := &protocol.DiscardRequest{Hunk: &protocol.DiscardHunk{Path: path, Text: text}, Snapshot: snapshot}
	return k.DiscardHunk(k.Context(), id, project, req, func(text string) string { return text })
}

// hunksOf returns the hunks of the only changed file.
func (k *kit) hunksOf(id, project string) []string {
	k.Helper()
	diff := k.diff(id, project)
	if len(diff.Files) != 1 {
		k.Fatalf("changed: %s", fileLines(diff))
	}
	var hunks []string
	for _, hunk := range splitHunks([]byte(diff.Patch)) {
		hunks = append(hunks, string(hunk))
	}
	return hunks
}

// numbered returns n lines, some of them replaced.
func numbered(n int, end string, replaced map[int]string) string {
	var text strings.Builder
	for i := 1; i <= n; i++ {
		line, ok := replaced[i]
		if !ok {
			line = fmt.Sprintf("line %d%s", i, end)
		}
		text.WriteString(line)
	}
	return text.String()
}

func TestADiscardedHunkLeavesTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	write(t, shop, "long.txt", numbered(40, "\n", nil))
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "long")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	file := filepath.Join(dir, "long.txt")
	write(t, dir, "long.txt", numbered(40, "\n", map[int]string{3: "third\n", 20: "a\nb\n", 38: ""}))
	must(t, os.Chmod(file, 0o750)) //nolint:gosec // the mode stays
	k.commit(uuid, "shop", "Committed changes are discarded too")

	hunks := k.hunksOf(uuid, "shop")
	if len(hunks) != 3 {
		t.Fatalf("%d hunks", len(hunks))
	}
	done, err := k.tryDiscardHunk(uuid, "shop", "long.txt", hunks[1])
	must(t, err)
	equal(t, "answer", fmt.Sprintf("%+v", *done), fmt.Sprintf("{Success:true SessionID:%s Files:1}", uuid))
	want := numbered(40, "\n", map[int]string{3: "third\n", 38: ""})
	equal(t, "without the second", string(mustRead(t, file)), want)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	_, err = k.tryDiscardHunk(uuid, "shop", "long.txt", hunks[1])
	errorHint(t, err, protocol.CodeConflict)
	equal(t, "repeated", string(mustRead(t, file)), want)
	left := k.hunksOf(uuid, "shop")
	must1(t)(k.tryDiscardHunk(uuid, "shop", "long.txt", left[1]))
	must1(t)(k.tryDiscardHunk(uuid, "shop", "long.txt", left[0]))
	equal(t, "all discarded", string(mustRead(t, file)), numbered(40, "\n", nil))
}

func TestHunksOfUnusualFilesAreDiscardedToTheByte(t *testing.T) {
	t.Parallel()
	same := func(text string) string { return text }
	for name, c := range map[string]struct {
		before, after string // "-" = no such file
		attributes    string
		want          func(before string) string
	}{
		"Windows line ends":                {"a\r\nb\r\n", "a\r\nc\r\n", "", same},
		"converted line ends":              {"a\nb\n", "a\r\nc\r\n", "* text=auto", crlf},
		"converted line ends, asked for":   {"a\nb\nc\n", "a\r\nc\r\n", "* text eol=crlf", crlf},
		"only the line ends":               {"a\nb\n", "a\r\nb\r\n", "", same},
		"no line end now":                  {"a\nb\n", "a\nb", "", same},
		"no line end before":               {"a\nb", "a\nb\nc\n", "", same},
		"no line end before and now":       {"a\nb", "a\nc", "", same},
		"no text now":                      {"a\nb\n", "", "", same},
		"no text before":                   {"", "a\nb", "", same},
		"invalid characters":               {"a\xff\nb\n", "a\xff\nb\xfe\n", "", same},
		"lines like those of a patch":      {"@@ -1 +1 @@\n--- a\n", "@@ -2 +2 @@\n+++ b\n\\ No newline\n", "", same},
		"carriage returns inside":          {"a\rb\r\r\n", "a\rc\r\r\n", "", same},
		"an added file":                    {"-", "a\nb\n", "", same},
		"a deleted file":                   {"a\nb", "-", "", same},
		"many kinds of spaces":             {"a \t\n\t\n\n", " \n\n\n\f\n", "", same},
		"a driver that shows another head": {"func a\nb\n", "func a\nc\n", "* diff=golang", same},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newRepository(t)
			const file = "dir/--a b ü.txt"
			put(t, shop, file, c.before)
			if c.attributes != "" {
				write(t, shop, ".gitattributes", c.attributes+"\n")
			}
			run(t, shop, "add", ".")
			run(t, shop, "commit", "--quiet", "--allow-empty", "-m", "more")
			k := open(t, map[string]Project{"shop": {Path: shop}})
			dir := k.session("s1", "shop")
			put(t, dir, file, c.after)
			hunks := k.hunksOf("s1", "shop")
			if len(hunks) != 1 {
				t.Fatalf("%d hunks", len(hunks))
			}
			must1(t)(k.tryDiscardHunk("s1", "shop", file, hunks[0]))
			equal(t, "changed", fileLines(k.diff("s1", "shop")), "")
			if c.before == "-" {
				if exists(filepath.Join(dir, "dir")) {
					t.Error("the added file is there")
				}
				return
			}
			equal(t, "content", string(mustRead(t, filepath.Join(dir, file))), c.want(c.before))
		})
	}
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// put makes a file as it is described; "-" removes it.
func put(t *testing.T, dir, file, content string) {
	t.Helper()
	if content != "-" {
		write(t, dir, file, content)
		return
	}
	if err := os.Remove(filepath.Join(dir, file)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func TestAHunkOfARenamedFileKeepsItsNewName(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	old := string(mustRead(t, filepath.Join(dir, "old.txt")))
	must(t, os.Rename(filepath.Join(dir, "old.txt"), filepath.Join(dir, "new.txt")))
	write(t, dir, "new.txt", "first\n"+old)
	hunks := k.hunksOf(uuid, "shop")
	must1(t)(k.tryDiscardHunk(uuid, "shop", "new.txt", hunks[0]))
	equal(t, "changed", fileLines(k.diff(uuid, "shop")), "renamed new.txt from old.txt")
	equal(t, "content", string(mustRead(t, filepath.Join(dir, "new.txt"))), old)
}

func TestAHunkIsComparedAsItWasShown(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	write(t, dir, "README", "the key hunter2\n")
	text := strings.ReplaceAll(k.hunksOf(uuid, "shop")[0], "hunter2", "[masked]")
	_, err := k.tryDiscardHunk(uuid, "shop", "README", text)
	errorHint(t, err, protocol.CodeConflict)
	req := &protocol.DiscardRequest{
		Hunk: &protocol.DiscardHunk{Path: "README", Text: text}, Snapshot: k.diff(uuid, "shop").Snapshot,
	}
	_, err = k.DiscardHunk(k.Context(), uuid, "shop", req,
		func(text string) string { return strings.ReplaceAll(text, "hunter2", "[masked]") })
	must(t, err)
	equal(t, "content", string(mustRead(t, filepath.Join(dir, "README"))), "shop\n")
}

func TestAHunkThatCannotBeDiscardedChangesNothing(t *testing.T) {
	t.Parallel()
	inner, shop := newRepository(t), newRepository(t)
	write(t, shop, "src/a.txt", "a\n")
	write(t, shop, "doc/a.txt", "a\n")
	write(t, shop, "image", "a\x00b\n")
	write(t, shop, "wide", "a\n")
	write(t, shop, ".gitattributes", "wide working-tree-encoding=UTF-16LE\n*.id ident\n")
	write(t, shop, "x.id", "$Id$\n")
	must(t, os.Symlink("README", filepath.Join(shop, "link")))
	write(t, shop, "wide", "a\x00\n\x00")
	run(t, shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "inner")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "more")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	write(t, dir, "README", "changed\n")
	write(t, dir, "image", "a\x00c\n")
	write(t, dir, "wide", "b\x00\n\x00")
	write(t, dir, "x.id", "$Id: x $\nmore\n")
	must(t, os.RemoveAll(filepath.Join(dir, "doc")))
	must(t, os.Symlink("src", filepath.Join(dir, "doc")))
	write(t, dir, "src/a.txt", "b\n")
	must(t, os.Remove(filepath.Join(dir, "link")))
	write(t, dir, "link", "a file\n")
	const ofREADME = "@@ -1 +1 @@\n-shop\n+changed\n"
	before := fileLines(k.diff("s1", "shop"))
	for name, c := range map[string]struct{ path, text string }{
		"another text":           {"README", "@@ -1 +1 @@\n-shop\n+other\n"},
		"another line":           {"README", "@@ -2 +2 @@\n-shop\n+changed\n"},
		"a part of a hunk":       {"README", "@@ -1 +1 @@\n-shop\n"},
		"two hunks":              {"README", ofREADME + ofREADME},
		"another file":           {"src/a.txt", ofREADME},
		"a file without changes": {"old.txt", ofREADME},
		"no file":                {"never/was/there", ofREADME},
		"a directory":            {"src", "@@ -1 +1 @@\n-a\n+b\n"},
		"a binary file":          {"image", "@@ -1 +1 @@\n-a\x01b\n+a\x01c\n"},
		"a file behind a link":   {"doc/a.txt", "@@ -1 +0,0 @@\n-a\n"},
		"a link that is a file":  {"link", "@@ -1 +0,0 @@\n-README\n\\ No newline at end of file\n"},
		"another encoding":       {"wide", "@@ -1 +1 @@\n-a\n+b\n"},
		"an expanded word":       {"x.id", "@@ -1 +1,2 @@\n $Id$\n+more\n"},
		"a pathspec":             {"*", ofREADME},
		"an option":              {"--output=x", ofREADME},
	} {
		_, err := k.tryDiscardHunk("s1", "shop", c.path, c.text)
		if protocol.CodeOf(err) != protocol.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "changed", fileLines(k.diff("s1", "shop")), before)
	equal(t, "the linked file", string(mustRead(t, filepath.Join(dir, "src/a.txt"))), "b\n")
	must1(t)(k.tryDiscardHunk("s1", "shop", "README", ofREADME))
}

func TestARequestForAHunkIsChecked(t *testing.T) {
	t.Parallel()
	const text = "@@ -1 +1 @@\n-a\n+b\n"
	for name, req := range map[string]protocol.DiscardRequest{
		"paths too":    {Paths: []string{"a"}, Hunk: &protocol.DiscardHunk{Path: "a", Text: text}},
		"no path":      {Hunk: &protocol.DiscardHunk{Text: text}},
		"the parent":   {Hunk: &protocol.DiscardHunk{Path: "../a", Text: text}},
		"git's file":   {Hunk: &protocol.DiscardHunk{Path: ".git/config", Text: text}},
		"no text":      {Hunk: &protocol.DiscardHunk{Path: "a"}},
		"another text": {Hunk: &protocol.DiscardHunk{Path: "a", Text: "-a\n+b\n"}},
		"cut":          {Hunk: &protocol.DiscardHunk{Path: "a", Text: "@@ -1 +1 @@"}},
		"too long":     {Hunk: &protocol.DiscardHunk{Path: "a", Text: text + strings.Repeat("+\n", protocol.MaxHunk/2)}},
	} {
		if err := req.Check(); protocol.CodeOf(err) != protocol.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	req := protocol.DiscardRequest{Hunk: &protocol.DiscardHunk{Path: "a", Text: text}}
	must(t, req.Check())
}

// Reverting all hunks of git's own diffs, the last first, gives the content before.
func TestRevertedHunksGiveTheContentBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	before, after := map[string][]byte{}, map[string][]byte{}
	for i := range 300 {
		name := fmt.Sprintf("%03d", i)
		old := randomLines(random, nil)
		before[name], after[name] = old, randomLines(random, old)
		write(t, dir, "a/"+name, string(before[name]))
		write(t, dir, "b/"+name, string(after[name]))
	}
	cmd := exec.Command("git", "diff", "--no-index", "--no-color", "--no-ext-diff", "a", "b")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C")
	patch, err := cmd.Output() // it exits with 1 if there are changes
	if len(patch) == 0 {
		t.Fatal(err)
	}
	seen := 0
	for _, section := range splitPatch(patch) {
		_, name, _ := strings.Cut(strings.SplitN(string(section), "\n", 2)[0], " b/b/")
		content := after[name]
		hunks := splitHunks(section)
		for i := len(hunks) - 1; i >= 0; i-- {
			hunk, err := parseHunk(hunks[i])
			must(t, err)
			reverted, ok := hunk.revert(content)
			if !ok {
				t.Fatalf("%s: hunk %d does not fit\n%s", name, i, hunks[i])
			}
			content, seen = reverted, seen+1
		}
		if !bytes.Equal(content, before[name]) {
			t.Errorf("%s: %q, want %q\n%s", name, content, before[name], section)
		}
	}
	if seen < 300 {
		t.Errorf("only %d hunks", seen)
	}
}

// randomLines returns lines, most of them those of old.
func randomLines(random *rand.Rand, old []byte) []byte {
	words := []string{"", "a", "b", "}", "-", "+", "@@ -1 +1 @@", "\\ No newline at end of file", "\xff"}
	ends := []string{"\n", "\n", "\n", "\r\n"}
	line := func() string { return words[random.IntN(len(words))] + ends[random.IntN(len(ends))] }
	var out bytes.Buffer
	lines := bytes.SplitAfter(old, []byte("\n"))
	if old == nil {
		for range random.IntN(40) {
			out.WriteString(line())
		}
	}
	for _, kept := range lines {
		switch random.IntN(12) {
		case 0: // removed
		case 1:
			out.WriteString(line())
		case 2:
			out.WriteString(line())
			out.Write(kept)
		default:
			out.Write(kept)
		}
	}
	if random.IntN(3) == 0 {
		return bytes.TrimRight(out.Bytes(), "\r\n")
	}
	return out.Bytes()
}
