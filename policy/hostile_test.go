package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScriptsBeyondTheLimitsAreNotParsed(t *testing.T) {
	t.Parallel()
	e := rules(t, "version: 1\nrules:\n  - {tool: '*', action: allow}\n")
	for name, command := range map[string]string{
		"too long":             "echo " + strings.Repeat("a", maxScript),
		"too long in sh -c":    "sh -c '" + strings.Repeat("a", maxScript) + "'",
		"subshells":            strings.Repeat("(", 501) + "ls" + strings.Repeat(")", 501),
		"substitutions":        strings.Repeat("$(", 501) + "ls" + strings.Repeat(")", 501),
		"quoted substitutions": strings.Repeat(`echo "$(`, 501) + "ls" + strings.Repeat(`)"`, 501),
		"parameters":           "echo " + strings.Repeat("${a:-", 501) + strings.Repeat("}", 501),
		"arithmetic":           "echo $((" + strings.Repeat("(", 501) + "1" + strings.Repeat(")", 501) + "))",
		"blocks":               strings.Repeat("{ ", 501) + "ls;" + strings.Repeat(" }", 501),
		"keywords":             strings.Repeat("if ", 501),
		"subscripts":           "((" + strings.Repeat("a[", 501),
		"processes":            "cat " + strings.Repeat("<(cat ", 501),
		"behind other quotes":  "echo '(' " + strings.Repeat("(", 501),
		"in a here-document":   "cat <<E\n" + strings.Repeat("$(", 501) + "\nE\n",
		"brackets alone":       strings.Repeat("(", 65000),
	} {
		t.Run(name, func(t *testing.T) {
			d, steps := e.Explain(bash(command))
			if outcome(d) != "confirm CRITICAL" || len(steps) > 4 {
				t.Errorf("%s after %d steps: %s", outcome(d), len(steps), d.Message)
			}
		})
	}
}

func TestLongButFlatScriptsAreParsed(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"499 levels":            strings.Repeat("(", 499) + "ls" + strings.Repeat(")", 499),
		"brackets in a row":     strings.Repeat("(ls);", 2000),
		"quoted brackets":       "echo '" + strings.Repeat("( ", 200) + "'" + strings.Repeat(" 'x(x'", 600),
		"brackets in a comment": "ls # " + strings.Repeat("(x", 600),
		"a program in a file":   "cat > f.py <<'EOF'\n" + strings.Repeat("f(g[h{x\n", 600) + "EOF\n",
		"a template in a file":  "cat > f.md <<EOF\n" + strings.Repeat("${x} `y`\n", 600) + "EOF\n",
		"escaped brackets":      "echo " + strings.Repeat(`\(`, 600),
		"many conditions":       strings.Repeat("if a; then b; fi; ", 600),
	} {
		t.Run(name, func(t *testing.T) {
			_, steps := defaults().Explain(bash(command))
			for _, s := range steps {
				if s.Danger == tooDeep || strings.Contains(s.Danger, "brackets") {
					t.Errorf("counts as too deep: %s", s.Danger)
				}
			}
		})
	}
}

func TestAWordThatMayBecomeSeveralOperandsIsCritical(t *testing.T) {
	t.Parallel()
	e := rules(t,
		"version: 1\nrules:\n  - {tool: shell:run, command: [grep *, git grep *], action: allow}\n  - {tool: 'file:*', "+
			"path: inside, action: allow}\n")
	for command, want := range map[string]string{
		"grep {a,/etc/shadow} b":           "confirm CRITICAL",
		"grep -- {a,/etc/shadow} b":        "confirm CRITICAL",
		"grep $pattern b":                  "confirm CRITICAL",
		"grep /etc/* b":                    "confirm CRITICAL",
		"git grep -- {a,/etc/shadow} HEAD": "confirm CRITICAL",
		`grep "$pattern" b`:                "allow INFO",
		"grep 'a*' b":                      "allow INFO",
		"grep -e a b":                      "allow INFO",
	} {
		if d := e.Decide(bash(command)); outcome(d) != want {
			t.Errorf("%s: %s (%s), want %s", command, outcome(d), d.Message, want)
		}
	}
}

func TestACallWithTooManyOperationsIsCritical(t *testing.T) {
	t.Parallel()
	if got := outcome(defaults().Decide(bash(strings.Repeat("ls\n", maxOperations+1)))); got != "confirm CRITICAL" {
		t.Error(got)
	}
	if got := outcome(defaults().Decide(bash(strings.Repeat("ls\n", maxOperations-1)))); got != "confirm INFO" {
		t.Error(got)
	}
}

// fragments are the parts from which the property tests build commands.
var fragments = []string{
	"ls", "ls -l", "cat a", "echo 'x'", "git status", "make", "cd src", "x=1", "f() { ls; }", "(ls)", "{ ls; }",
	"if a; then b; fi", "cat <<E\nx\nE\n", "echo \"$(ls)\"", "curl https://example.com", "sudo ls", "echo x > y",
	"sh -c 'ls'", "env A=1 ls", "xargs ls", "$X", "echo {a,b}", "cat .env", "#", "\\", "'", "\"", "while a; do b; done",
	"[[ a ]]", "((1))", "PATH=x", "case a in b) c;; esac", "", " ", "&&", ";;", "(", ")", "<<E", "`", "$(", "\n",
}

// destroyers are destructive in every position.
var destroyers = []string{
	"rm -rf /", "sudo ls", "dd if=a of=/dev/sda", "git push --force", "$CMD", "sh -c 'rm -rf x'",
	"env X=1 rm -r x", "mkfs.ext4 /dev/sda",
}

var policies = []string{
	"version: 1\n",
	"version: 1\nrules: [{tool: '*', action: allow}]\n",
	"version: 1\nextends: none\nrules: [{tool: 'shell:*', action: confirm, level: WARN}]\n",
	"version: 1\nrules: [{tool: 'shell:*', command: 'ls *', action: deny, level: CRITICAL}, {tool: '*', action: " +
		"allow, level: WARN}]\n",
}

func command(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 6).Draw(t, "fragments")
	joint := rapid.SampledFrom([]string{"; ", " && ", " | ", "\n", " "}).Draw(t, "joint")
	return strings.Join(parts,
		joint) + rapid.SampledFrom([]string{"", "", rapid.String().Draw(t, "noise")}).Draw(t, "tail")
}

func TestAHarmfulCommandNeverLowersTheLevel(t *testing.T) {
	t.Parallel()
	var engines []*Engine
	for _, p := range policies {
		engines = append(engines, rules(t, p))
	}
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(engines).Draw(t, "engine")
		before := command(t)
		if strings.HasSuffix(before, `\`) { // which would take the separator: "ls \; sudo ls" only lists
			before += " "
		}
		after := before + "; " + rapid.SampledFrom(destroyers).Draw(t, "destroyer")
		a, b := e.Decide(bash(before)), e.Decide(bash(after))
		if slices.Index(levels, b.Level) < slices.Index(levels, a.Level) {
			t.Fatalf("%q is %s, but %q is %s", before, a.Level, after, b.Level)
		}
	})
}

func TestHarmAfterACompleteCommandIsCritical(t *testing.T) {
	t.Parallel()
	e := rules(t, policies[1])
	complete := []string{
		"ls", "cat a | wc", "(ls)", "if a; then b; fi", "f() { ls; }", "x=1", "echo \"$(ls)\"", "[[ a ]]", "echo 'a;b'",
		"cd src", "ls > x", "ls 2>&1",
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(complete), 1, 5).Draw(t, "parts")
		text := strings.Join(parts, rapid.SampledFrom([]string{"; ", " && ", " || ", "\n"}).Draw(t, "joint"))
		text += rapid.SampledFrom([]string{"; ", " && ", " || ", " & ", "\n", " | "}).Draw(t,
			"last") + rapid.SampledFrom(destroyers).Draw(t, "destroyer")
		if d := e.Decide(bash(text)); d.Action != Confirm || d.Level != Critical {
			t.Fatalf("%q: %+v", text, d)
		}
	})
}

func FuzzDecide(f *testing.F) {
	for line := range strings.Lines(commandTable) {
		if _, command, ok := cutCase(line); ok {
			f.Add(command)
		}
	}
	for _, p := range []string{"(", "$(", "${a[", "<<E", "`", "\x00", "a\\", "{a,b}", "[[ ", "((", "case x in"} {
		f.Add(strings.Repeat(p, 200))
	}
	engines := []*Engine{defaults(), rules(f, policies[1]), rules(f, policies[3])}
	f.Fuzz(func(t *testing.T, command string) {
		c := bash(command)
		for _, e := range engines {
			d, steps := e.Explain(c)
			if !slices.Contains(actions, d.Action) || !slices.Contains(levels, d.Level) || d.Rule == "" ||
				len(steps) > maxOperations+2 {
				t.Errorf("%+v after %d steps", d, len(steps))
			}
			if d != e.Decide(c) {
				t.Error("the same call, another decision")
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(DefaultRules())
	for _, p := range policies {
		f.Add(p)
	}
	f.Fuzz(func(_ *testing.T, file string) {
		if e, err := Parse([]byte(file), "", Options{}); err == nil {
			e.Decide(bash("ls"))
		}
	})
}
