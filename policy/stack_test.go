package policy

import (
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/internal/testenv/testlist"
)

// maxStack is the limit for the stack of one decision, one eighth of Go's limit.
// See maxOpeners.
const maxStack = 128 << 20

// nested is a construct that may contain itself: open and end are repeated around
// inner.
type nested struct{ before, open, inner, end, after string }

// constructs lists all kinds of recursion in the parser and in the walker.
var constructs = []nested{
	{"", "(", "ls", ")", ""},
	{"", "( ", "ls", ")", ""},
	{"", "{ ", "ls", ";}", ""},
	{"", "$(", "ls", ")", ""},
	{"echo ", `"$(`, "ls", `)"`, ""},
	{"", "echo `", "", "", ""},
	{"cat ", "<(cat ", "a", ")", ""},
	{"ls ", "> >(cat ", "a", ")", ""},
	{"echo ", "${a:-", "b", "}", ""},
	{"echo ", `"${a:-`, "b", `}"`, ""},
	{"echo ", "${a[", "1", "]}", ""},
	{"echo ", "${a:", "1", "}", ""},
	{"echo ", "${a/b/", "c", "}", ""},
	{"echo ", "$((", "1", "))", ""},
	{"echo ", "$[", "1", "]", ""},
	{"echo ", "@(", "a", ")", ""},
	{"", "${ ", "ls", ";}", ""},
	{"", "a=(", "1", ")", ""},
	{"", "a=$(", "ls", ")", ""},
	{"", "a[", "1", "]=1", ""},
	{"((", "(", "1", ")", "))"},
	{"((", "a[", "1", "]", "))"},
	{"((", "- ", "1", "", "))"},
	{"((", "!", "1", "", "))"},
	{"((", "a=", "1", "", "))"},
	{"((", "1?", "1", ":1", "))"},
	{"((", "1?1:", "1", "", "))"},
	{"((", "1**", "1", "", "))"},
	{"((", "1+", "1", "", "))"},
	{"let ", "a=", "1", "", ""},
	{"[[ ", "( ", "a", " )", " ]]"},
	{"[[ ", "! ", "a", "", " ]]"},
	{"[[ ", "a&&", "a", "", " ]]"},
	{"", "if ", "a", ";then a;fi", ""},
	{"", "if a;then ", "a", ";fi", ""},
	{"if a;then ", "a;elif a;then ", "a", "", ";fi"},
	{"", "while ", "a", ";do a;done", ""},
	{"", "for a in b;do ", "a", ";done", ""},
	{"", "select a in b;do ", "a", ";done", ""},
	{"", "case a in a)", "a", ";;esac", ""},
	{"", "time ", "a", "", ""},
	{"", "coproc if ", "a", ";then a;fi", ""},
	{"", "coproc a ", "a", "", ""},
	{"", "f()", "a", "", ""},
	{"", "f(){ ", "f|f", ";}", ""},
	{"f(){ ", "f|", "f", "", ";}"},
	{"", "a|", "a", "", ""},
	{"", "a&&", "a", "", ""},
	{"", "a||", "a", "", ""},
	{"", "cat <<E;", "a", "", ""},
	{"", "sh -c '", "ls", "", ""},
	{"", "nice ", "ls", "", ""},
	{"", "eval ", "ls", "", ""},
}

// script repeats the construct n times, or as often as size bytes and maxOpeners
// allow.
func (c nested) script(n, size int) string {
	outer, level := c.before+c.inner+c.after, c.open+c.end
	n = min(n, (size-len(outer))/max(len(level), 1))
	if each := openers(level); each > 0 {
		n = min(n, (maxOpeners-openers(outer))/each)
	}
	n = max(n, 0)
	return c.before + strings.Repeat(c.open, n) + c.inner + strings.Repeat(c.end, n) + c.after
}

// unclosed returns only the openings of such a script: the parser recurses before
// it refuses it.
func (c nested) unclosed() nested { return nested{before: c.before, open: c.open} }

// deepest repeats the construct as often as the limits of a script allow.
func (c nested) deepest() string { return c.script(maxScript, maxScript) }

// around puts a script into the innermost position of the construct.
func (c nested) around(script string) nested {
	c.inner = script
	return c
}

// A stack overflow ends the process, so the test decides in a child process.
func TestTheDeepestScriptsFitIntoTheStack(t *testing.T) {
	t.Parallel()
	const child = "POLICY_STACK_TEST"
	if os.Getenv(child) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
		}
		return
	}
	debug.SetMaxStack(maxStack)
	e := defaults()
	all := slices.Clone(constructs)
	for _, c := range constructs {
		all = append(all, c.unclosed())
	}
	for _, c := range all {
		e.Decide(bash(c.deepest()))
	}
	for _, c := range testlist.OrEvery(4, constructs) {
		for _, inner := range []nested{{"", "${a[", "", "", ""}, {"((", "!", "1", "", "))"}} {
			half := inner.script(maxScript, maxScript/2)
			e.Decide(bash(c.around(half).deepest()))
			e.Decide(bash(c.around("sh -c '" + half + "'").deepest()))
		}
	}
}

// FuzzStack searches for a construct that recurses deeper than the known ones.
func FuzzStack(f *testing.F) {
	for _, c := range testlist.OrEvery(len(constructs), constructs) { // the test above decides on all of them
		f.Add(c.before, c.open, c.inner, c.end, c.after)
	}
	f.Fuzz(func(_ *testing.T, before, open, inner, end, after string) {
		defer debug.SetMaxStack(debug.SetMaxStack(maxStack))
		c := nested{before, open, inner, end, after}
		defaults().Decide(bash(c.deepest()))
		defaults().Decide(bash(c.unclosed().deepest()))
	})
}

func TestMixedConstructsFitIntoTheStack(t *testing.T) {
	t.Parallel()
	defer debug.SetMaxStack(debug.SetMaxStack(maxStack))
	rapid.Check(t, func(t *rapid.T) {
		script := "ls"
		for _, c := range rapid.SliceOfN(rapid.SampledFrom(constructs), 1, 6).Draw(t, "constructs") {
			script = c.around(script).script(rapid.IntRange(1, 3000).Draw(t, "levels"), maxScript)
		}
		defaults().Decide(bash(script))
	})
}

func TestTooManyOpenersAreRefused(t *testing.T) {
	t.Parallel()
	e := rules(t, "version: 1\nrules:\n  - {tool: 'shell:*', action: allow}\n")
	most := "echo " + strings.Repeat("'('", maxOpeners)
	if got := outcome(e.Decide(bash(most))); got != "allow INFO" {
		t.Errorf("at the limit: %s", got)
	}
	for _, opener := range []string{"(", "[", "{", "`", "$(", "${"} {
		if got := outcome(e.Decide(bash(most + " '" + opener + "'"))); got != "confirm CRITICAL" {
			t.Errorf("one %s over the limit: %s", opener, got)
		}
	}
}
