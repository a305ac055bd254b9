package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// failIfEscaped fails the test if an allowed command changed something outside the workspace.
func failIfEscaped(t testing.TB, command string, got cageResult) {
	t.Helper()
	if len(got.Changes) > 0 {
		t.Errorf("the policy allows %q, which changes %q outside the workspace", command, got.Changes)
	}
}

// The cage must detect an escape: otherwise the tests below could not fail.
func TestTheCageSeesEscapes(t *testing.T) {
	t.Parallel()
	c := newCage(t)
	for _, command := range []string{
		"chmod 777 link", "touch ../victim", "rm ../victim", "echo x > ../new", "echo x > out/victim", "ln -s x ~/l",
		"mkdir $TMPDIR/d", "mv ../outside/victim .", "git -c core.fsmonitor='touch ../new2' status",
		"sh ./evil.sh", "find .. -name victim -delete",
	} {
		if got := c.run(t, command, true); len(got.Changes) == 0 || got.Allowed {
			t.Errorf("%q: allowed %v, changes %q", command, got.Allowed, got.Changes)
		}
	}
}

func TestHarmlessCommandsOfTheCorpusChangeNothingOutside(t *testing.T) {
	t.Parallel()
	c := newCage(t)
	allowed := 0
	for _, file := range bypassFiles(t) {
		if filepath.Base(file) == "tools.txt" {
			continue
		}
		for _, b := range readBypasses(t, file) {
			command := strings.ReplaceAll(b.text, "@@", "\n")
			got := c.run(t, command, false)
			failIfEscaped(t, command, got)
			if got.Allowed {
				allowed++
			}
		}
	}
	if allowed < 50 {
		t.Errorf("only %d commands of the corpus were allowed and run", allowed)
	}
}

// operands are the operands of generated commands.
var operands = []string{
	"a.txt", "b.txt", "src", "src/a.txt", "d", "d/victim", "new", "docs/new", ".", "..", "../victim", "../outside",
	"out", "out/victim", "link", "d/out/victim", "d2/out/victim", "/cage/victim", "~/victim", "$HOME/victim",
	`"$PWD"/../victim`, "*", "./*", "*.txt", "d*/out/victim", "-o", "-delete", "--output=../victim", "-o../victim",
	"'../victim'", "..//victim", "src/../../victim", "HEAD", "HEAD:a.txt", "p", "s/a/b/", "s/a/b/e", "s/a/b/w../victim",
	"1p", "'w ../victim'", "'{print $1}'", "'{print > \"../victim\"}'", "x", "+x", "600", "{a.txt,../victim}", "$X",
	`"$X"`, "$(echo ../victim)", "-", "--", "!", "evil.sh", "./evil", "-exec", "touch", ";", "'a[$(touch ../victim)]'",
	"$'..\\x2fvictim'", "3", "10",
}

var (
	redirects = []string{
		"", "", "", "", " > new", " > ../victim", " >> link", " > out/victim", " 2>&1", " < a.txt", " > d2/out/victim",
		" >&../victim", " 2> src/../../victim", " <<< x",
	}
	joints = []string{"; ", " && ", " || ", " | ", "\n", " & ", " |& "}
	frames = []string{
		"%", "%", "%", "(%)", "{ %; }", "if true; then %; fi", "for i in 1 2; do %; done", "echo $(%)", "cat <(%)", "! %",
		"x() { %; }; x", "cd src && %", "cd ..; %", "time %", "X=1 %", "eval %",
	}
)

// drawSimple draws a command: mostly words that its program knows.
func drawSimple(t *rapid.T) string {
	keys := make([]string, 0, len(programs()))
	for key := range programs() {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	p := programs()[rapid.SampledFrom(keys).Draw(t, "program")]
	flags := []string{
		"-x", "-o", "-i", "-t", "-f", "-e", "-exec", "--output=../victim", "--target-directory=..", "-C", "-c",
	}
	for flag, o := range p.flags {
		if flags = append(flags, flag); o.value != "" {
			flags = append(flags, flag+"=../victim", flag+"../victim", flag+"x")
		}
	}
	slices.Sort(flags)
	words := []string{p.key}
	for range rapid.IntRange(0, 4).Draw(t, "words") {
		if rapid.IntRange(0, 2).Draw(t, "option") == 0 {
			words = append(words, rapid.SampledFrom(flags).Draw(t, "flag"))
		} else {
			words = append(words, rapid.SampledFrom(operands).Draw(t, "operand"))
		}
	}
	return strings.Join(words, " ") + rapid.SampledFrom(redirects).Draw(t, "redirect")
}

func drawScript(t *rapid.T) string {
	script := ""
	for i := range rapid.IntRange(1, 3).Draw(t, "commands") {
		if i > 0 {
			script += rapid.SampledFrom(joints).Draw(t, "joint")
		}
		script += strings.ReplaceAll(rapid.SampledFrom(frames).Draw(t, "frame"), "%", drawSimple(t))
	}
	return script
}

// A thousand commands are drawn at each run; -rapid.checks draws more.
func TestHarmlessCommandsChangeNothingOutside(t *testing.T) {
	t.Parallel()
	c := newCage(t)
	allowed, drawn := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		for range 10 {
			command := drawScript(r)
			got := c.run(t, command, false)
			failIfEscaped(t, command, got) // t and not r: rapid would shrink with a cage that has changed
			if drawn++; got.Allowed {
				allowed++
			}
		}
	})
	t.Logf("%d of %d drawn commands were allowed and run", allowed, drawn)
	if allowed == 0 {
		t.Error("no drawn command was allowed")
	}
}

// FuzzHarmless looks for commands that the policy allows and that leave the workspace.
func FuzzHarmless(f *testing.F) {
	for _, file := range bypassFiles(f) {
		for _, b := range readBypasses(f, file) {
			if b.permissive == "allow INFO" && filepath.Base(file) != "tools.txt" {
				f.Add(strings.ReplaceAll(b.text, "@@", "\n"))
			}
		}
	}
	c := newCage(f)
	f.Fuzz(func(t *testing.T, command string) {
		if strings.Contains(command, "\x00") || len(command) > 4096 {
			return
		}
		failIfEscaped(t, command, c.run(t, command, false))
	})
}
