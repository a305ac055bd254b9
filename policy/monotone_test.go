package policy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"bellhop/internal/testenv/testlist"
	"bellhop/protocol"
)

// added are commands that define nothing for what follows: no directory, variable, function, alias or option.
var added = []string{
	"ls", "true", "mv a b", "mv -f a .git/hooks/pre-commit", "git checkout main", "git switch topic", "git mv a b",
	"git merge topic", "git clone https://example.com/x", "git stash", "git reset --hard", "ln -s a b", "cp -r a b",
	"rm -rf build", "echo x > out.txt", "cat .env", "curl https://example.com", "go test ./...", "npm install",
	"make 2>&1 | tee build.log", "touch ../x", "(cd src; ls)", "if a; then b; fi", "for f in a b; do echo $f; done",
	"sh -c 'ls'", "$CMD", "find . -delete", "tar xf a.tar", "unzip a.zip", "rsync -a a b", "patch -p1 < a.diff",
	"grep -r key .", "rg -uu key", "cat *", "echo $TOKEN", "curl -H \"X: $API_KEY\" example.com", "[ -n \"$TOKEN\" ]",
}

// scripts are the scripts of the tables of this package that shells read as complete.
func scripts(t testing.TB) (list []string) {
	t.Helper()
	for line := range strings.Lines(commandTable) {
		if _, command, ok := cutCase(line); ok {
			list = append(list, command)
		}
	}
	for _, file := range bypassFiles(t) {
		if filepath.Base(file) == "tools.txt" {
			continue
		}
		for _, b := range readBypasses(t, file) {
			list = append(list, strings.ReplaceAll(b.text, "@@", "\n"))
		}
	}
	return slices.DeleteFunc(list, func(s string) bool {
		_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s), "")
		return err != nil || strings.HasSuffix(s, "\\")
	})
}

// defines are words by which a script may change what follows it.
var defines = regexp.MustCompile(`=|\(\)|\b(?:cd|pushd|popd|function|alias|unalias|set|shopt|unset|export|declare|` +
	`typeset|local|readonly|read|mapfile|eval|exec|exit|return|source|trap|hash|enable|builtin|command|printf -v|let|\.)\b|^\. `)

func weaker(a, b Decision) bool {
	return slices.Index(actions, a.Action) < slices.Index(actions, b.Action) ||
		slices.Index(levels, a.Level) < slices.Index(levels, b.Level)
}

func TestACommandMoreIsNeverLess(t *testing.T) {
	t.Parallel()
	o := Options{Home: "/home/u", Links: bypassLinks}
	engines := []*Engine{Default(o), permissive(t, o)}
	all := scripts(t)
	check := func(t interface{ Errorf(string, ...any) }, script, more string, mode protocol.PermissionMode, e *Engine) {
		decide := func(text string) Decision {
			c := withTree(bash(text), usualTree, new(int))
			c.Mode = mode
			return e.Decide(c)
		}
		alone := decide(script)
		if d := decide(script + "\n" + more); weaker(d, alone) {
			t.Errorf("%q is %s %s, and with %q after it %s %s", script, alone.Action, alone.Level, more, d.Action, d.Level)
		}
		if defines.MatchString(more) {
			return
		}
		if d := decide(more + "\n" + script); weaker(d, alone) {
			t.Errorf("%q is %s %s, and with %q before it %s %s", script, alone.Action, alone.Level, more, d.Action, d.Level)
		}
	}
	for i, script := range all {
		for _, more := range testlist.OrEvery(7, slices.Concat(added[i%len(added):], added[:i%len(added)])) {
			check(t, script, more, protocol.ModeAuto, engines[0])
		}
	}
	modes := []protocol.PermissionMode{protocol.ModeAuto, protocol.ModeAcceptEdits, protocol.ModePlan, protocol.ModeAsk}
	rapid.Check(t, func(t *rapid.T) {
		script := strings.Join(rapid.SliceOfN(rapid.SampledFrom(all), 1, 3).Draw(t, "script"), "\n")
		more := rapid.SampledFrom(all).Draw(t, "more")
		check(t, script, more, rapid.SampledFrom(modes).Draw(t, "mode"), rapid.SampledFrom(engines).Draw(t, "engine"))
	})
}
