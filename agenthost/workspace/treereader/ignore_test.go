package treereader

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// matchCases are questions whose answers git documents or tests.
var matchCases = []struct {
	pattern, text string
	paths, want   bool
}{
	{"foo", "foo", false, true},
	{"", "", false, true},
	{"???", "foo", false, true},
	{"??", "foo", false, false},
	{"*f", "foo", false, false},
	{"*ob*a*r*", "foobar", false, true},
	{`foo\*`, "foo*", false, true},
	{`f\oo`, "foo", false, true},
	{`\`, `\`, false, false},
	{"*[al]?", "ball", false, true},
	{"[ten]", "ten", false, false},
	{"**[!te]", "ten", false, true},
	{"a[]]b", "a]b", false, true},
	{"a[]-]b", "a-b", false, true},
	{"[^a-c]*", "d", false, true},
	{"[a-", "a", false, false},
	{"[[:digit:][:upper:][:space:]]", "A", false, true},
	{"[[:digit:][:upper:][:spaci:]]", "1", false, false},
	{"[[:xdigit:]]", "f", false, true},
	{`[\]]`, "]", false, true},
	{"[[::]", ":", false, false},
	{"foo/*", "foo/bar/baz", true, false},
	{"foo/**", "foo/bar/baz", true, true},
	{"foo*bar", "foo/bar", true, false},
	{"foo**bar", "foo/bar", true, false},
	{"foo/**/bar", "foo/bar", true, true},
	{"foo/**/**/bar", "foo/x/bar", true, true},
	{"**/foo", "foo", true, true},
	{"**/foo", "a/b/foo", true, true},
	{"*/foo", "a/b/foo", true, false},
	{"foo?bar", "foo/bar", true, false},
	{"foo[/]bar", "foo/bar", true, false},
	{"**/bar*", "a/b/barc", true, true},
	{"**/bar/*", "a/bar/b/c", true, false},
	{"-*-*-*-*-*-*-12-*-*-*-m-*-*-*", "-adobe-courier-bold-o-normal--12-120-75-75-X-70-iso8859-1", false, false},
	{"**/*a*b*g*n*t", "abcd/abcdefg/abcdefghijk/abcdefghijklmnop.txt", true, true},
}

func TestWild(t *testing.T) {
	t.Parallel()
	for _, c := range matchCases {
		if got := wild(c.pattern, c.text, c.paths); got != c.want {
			t.Errorf("%q with %q, paths %v: %v", c.pattern, c.text, c.paths, got)
		}
	}
}

// Stars that cannot match end soon, however many there are.
func TestHardPatternsEnd(t *testing.T) {
	t.Parallel()
	for _, paths := range []bool{true, false} {
		if wild(strings.Repeat("a*", 40)+"b", strings.Repeat("a", 4000), paths) {
			t.Error("it matches")
		}
		if wild(strings.Repeat("**/a*", 12)+"b", strings.Repeat("a/", 40)+"a", paths) {
			t.Error("it matches")
		}
	}
}

// TestRulesEqualGit compares random lists of ignored files with git check-ignore.
func TestRulesEqualGit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	text := func(pieces int, from ...string) string {
		var b strings.Builder
		for range 1 + random.IntN(pieces) {
			b.WriteString(pick(from...))
		}
		return b.String()
	}
	root := t.TempDir()
	shell(t, root, "git init -q")
	type question struct {
		path string
		want bool
	}
	var questions []question
	lists := map[string]string{}
	for i := range 400 {
		dir := fmt.Sprint("d", i)
		var list strings.Builder
		for range 1 + random.IntN(4) {
			list.WriteString(pick("", "", "", "!", "/", `\!`, " ") + text(6,
				"a", "b", "*", "**", "/", "/", "?", "[ab]", "[!a]", "[a-c]", "**/", "/**", `\a`, `\*`, "[[:alpha:]]", ".", "[a", "-", "]") +
				pick("", "", "", "/", " ", `\ `, "\r") + "\n")
		}
		lists[dir] = list.String()
		write(t, root, dir+"/.gitignore", lists[dir])
		for range 25 {
			path := strings.Trim(text(5, "a", "b", "c", "/", "/", "*", ".", "]"), "/")
			for strings.Contains(path, "//") {
				path = strings.ReplaceAll(path, "//", "/")
			}
			if path = dir + "/" + path; IsPath(path) {
				questions = append(questions, question{path: path})
			}
		}
	}
	var input strings.Builder
	for i := range questions {
		input.WriteString(questions[i].path + "\x00")
		// What git would meet on its way: a directory that is ignored ignores all below it.
		dir, rest, _ := strings.Cut(questions[i].path, "/")
		list := []rules{parseRules(lists[dir], dir+"/")}
		elements := strings.Split(rest, "/")
		for n := range elements {
			isLast := n == len(elements)-1
			if ignores(list, dir+"/"+strings.Join(elements[:n+1], "/"), !isLast) {
				questions[i].want = true
				break
			}
		}
	}
	cmd := exec.Command("git", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Dir, cmd.Stdin = root, strings.NewReader(input.String())
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	must(t, err)
	ignored := map[string]bool{}
	for path := range strings.SplitSeq(string(out), "\x00") {
		ignored[path] = true
	}
	for _, q := range questions {
		if dir, _, _ := strings.Cut(q.path, "/"); ignored[q.path] != q.want {
			t.Errorf("%q with %q: %v, git %v", lists[dir], q.path, q.want, ignored[q.path])
		}
	}
	if len(ignored) < len(questions)/20 || len(ignored) > len(questions)*19/20 {
		t.Errorf("git ignores %d of %d paths, which compares little", len(ignored), len(questions))
	}
}

func FuzzRules(f *testing.F) {
	f.Add("*.o\n!x/**/a[[:alpha:]-]\n", "x/y/ab")
	f.Add("\xef\xbb\xbf\\#h\r\nsp\\ \n[a-\n", "sp ")
	f.Add("**/a*a*a*b/\n/\n!\n", "aaaaaaaaaaaaaaaa/aaaaaaaaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, content, path string) {
		if len(content) > 200 || len(path) > 200 {
			return
		}
		ignores([]rules{parseRules(content, "")}, path, true)
	})
}
