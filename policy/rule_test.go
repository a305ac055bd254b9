package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rule string // the rule is one line of a list
		call       Call
		want       string
	}{
		{"a rule without patterns covers its tool", "{tool: shell:run, action: allow}", bash("ls -l"), "allow INFO"},
		{"a tool pattern may end in *", "{tool: 'shell:*', action: allow}", bash("ls"), "allow INFO"},
		{"the agent's own name works too", "{tool: Bash, action: allow}", bash("ls"), "allow INFO"},
		{"another tool is not covered", "{tool: file:read, action: allow}", bash("ls"), "confirm INFO"},
		{"an agent is a pattern", "{tool: '*', agent: cl*, action: allow}", bash("ls"), "allow INFO"},
		{"another agent is not covered", "{tool: '*', agent: codex, action: allow}", bash("ls"), "confirm INFO"},
		{"a project is a pattern", "{tool: '*', project: [x, shop], action: allow}", bash("ls"), "allow INFO"},
		{"another project is not covered", "{tool: '*', project: lab, action: allow}", bash("ls"), "confirm INFO"},

		{"the words must match", "{tool: '*', command: git status, action: allow}", bash("git status"), "allow INFO"},
		{
			"more words than the pattern do not match", "{tool: '*', command: git status, action: allow}",
			bash("git status -s"), "confirm INFO",
		},
		{
			"a last * is any number of words", "{tool: '*', command: git status *, action: allow}",
			bash("git status"), "allow INFO",
		},
		{"a * in between is one word", "{tool: '*', command: git * x, action: allow}", bash("git a b x"), "confirm CRITICAL"},
		{
			"braces are alternatives", "{tool: '*', command: 'git {status,diff} *', action: allow}",
			bash("git diff a"), "allow INFO",
		},
		{
			"quotes are no part of a word", "{tool: '*', command: git status *, action: allow}",
			bash(`"git" 'status' -s`), "allow INFO",
		},
		{"every command must be allowed", "{tool: '*', command: ls *, action: allow}", bash("ls; make"), "confirm INFO"},
		{"ls; rm -rf / is not ls", "{tool: '*', command: ls *, action: allow}", bash("ls; rm -rf /"), "confirm CRITICAL"},
		{"a command in a word counts", "{tool: '*', command: echo *, action: allow}", bash("echo $(make)"), "confirm INFO"},
		{
			"a program elsewhere is another one", "{tool: '*', command: ls *, action: allow}",
			bash("/tmp/ls"), "confirm CRITICAL",
		},
		{
			"a program in /usr/bin may be given by its path", "{tool: '*', command: ls *, action: allow}",
			bash("/usr/bin/ls"), "allow INFO",
		},
		{
			"another PATH makes it another one", "{tool: '*', command: ls *, action: allow}",
			bash("PATH=/tmp:$PATH ls"), "confirm CRITICAL",
		},
		{
			"a PATH that is exported later makes it another one", "{tool: '*', command: ['ls *', 'export *'], action: allow}",
			bash("ls; export PATH=/tmp"), "confirm CRITICAL",
		},
		{
			"LD_PRELOAD makes it another one", "{tool: '*', command: ls *, action: allow}",
			bash("env LD_PRELOAD=x ls"), "confirm CRITICAL",
		},
		{
			"an alias makes it another one", "{tool: '*', command: ['ls *', 'alias *'], action: allow}",
			bash("alias ls=make; ls"), "confirm CRITICAL",
		},
		{
			"a harmless variable does not make it another one", "{tool: '*', command: go test *, action: allow}",
			bash("CGO_ENABLED=0 go test ./..."), "allow INFO",
		},
		{
			"an unknown word matches only *", "{tool: '*', command: git status, action: allow}",
			bash("git $X"), "confirm CRITICAL",
		},
		{"an unknown word matches a last *", "{tool: '*', command: echo *, action: allow}", bash("echo $X"), "allow INFO"},
		{
			"a command that runs another one is asked", "{tool: '*', command: go test *, action: allow}",
			bash("timeout 60 nice go test ./..."), "confirm CRITICAL",
		},
		{
			"the script of a shell is checked instead of the shell", "{tool: '*', command: go test *, action: allow}",
			bash("bash -lc 'go test ./...'"), "allow INFO",
		},
		{
			"a wrapper command can be denied", "{tool: '*', command: timeout *, action: deny}",
			bash("timeout 5 ls"), "deny WARN",
		},
		{
			"a denied program is denied anywhere", "{tool: '*', command: make *, action: deny}",
			bash("ls && /opt/bin/make"), "deny WARN",
		},
		{
			"a denial has precedence over a confirmation", "{tool: '*', command: make *, action: deny, level: INFO}",
			bash("make; rm -rf /"), "deny CRITICAL",
		},
		{"a redirection is a write", "{tool: shell:run, action: allow}", bash("echo x > y"), "confirm INFO"},
		{
			"the write of a redirection can be allowed", "{tool: ['shell:run', 'file:write'], action: allow}",
			bash("echo x > y"), "allow INFO",
		},
		{
			"a command reads its operand", "{tool: shell:run, command: cat *, action: allow}",
			bash("cat /etc/shadow"), "confirm WARN",
		},
		{
			"a command that reads inside the workspace is allowed", "{tool: shell:run, command: cat *, action: allow}",
			bash("cat a.txt"), "allow INFO",
		},

		{
			"an allowing rule does not cover destructive operations", "{tool: '*', action: allow}",
			bash("rm -rf build"), "confirm CRITICAL",
		},
		{
			"a confirming rule does not cover destructive operations", "{tool: '*', action: confirm, level: INFO}",
			bash("rm -rf build"), "confirm CRITICAL",
		},
		{
			"an allowing rule with destructive covers them",
			"{tool: ['shell:run','file:delete'], destructive: true, command: rm -rf build, action: allow}",
			bash("rm -rf build"), "allow INFO",
		},
		{
			"a rule with destructive covers nothing else", "{tool: '*', destructive: true, action: allow}",
			bash("ls"), "confirm INFO",
		},
		{
			"a denying rule covers destructive operations too", "{tool: 'shell:*', action: deny}",
			bash("rm -rf build"), "deny CRITICAL",
		},
		{
			"a denying rule may be only about destructive operations",
			"{tool: '*', destructive: true, action: deny, level: CRITICAL}", bash("sudo ls"), "deny CRITICAL",
		},

		{
			"a path is relative to the workspace", "{tool: file:write, path: docs/**, action: allow}",
			tool("Write", map[string]string{"file_path": "/ws/docs/a/b.md"}), "allow INFO",
		},
		{
			"** also matches no element", "{tool: file:write, path: docs/**/x.md, action: allow}",
			tool("Write", map[string]string{"file_path": "docs/x.md"}), "allow INFO",
		},
		{
			"* stays in its element", "{tool: file:write, path: docs/*, action: allow}",
			tool("Write", map[string]string{"file_path": "docs/a/b"}), "confirm INFO",
		},
		{
			".. is resolved before", "{tool: file:write, path: docs/**, action: allow}",
			tool("Write", map[string]string{"file_path": "docs/../a"}), "confirm INFO",
		},
		{
			"case counts", "{tool: file:write, path: docs/**, action: allow}",
			tool("Write", map[string]string{"file_path": "DOCS/a"}), "confirm INFO",
		},
		{
			"** alone is inside", "{tool: file:write, path: '**', action: allow}",
			tool("Write", map[string]string{"file_path": "/tmp/a"}), "confirm WARN",
		},
		{
			"**/x is anywhere", "{tool: file:write, path: '**/a', action: allow}",
			tool("Write", map[string]string{"file_path": "/tmp/a"}), "allow INFO",
		},
		{
			"/x is absolute", "{tool: file:write, path: '/tmp/**', action: allow}",
			tool("Write", map[string]string{"file_path": "/tmp/a"}), "allow INFO",
		},
		{
			"~/x is below the home", "{tool: file:write, path: '~/n/**', action: allow}",
			tool("Write", map[string]string{"file_path": "/home/u/n/a"}), "allow INFO",
		},
		{
			"inside is a place", "{tool: file:write, where: inside, action: allow}",
			tool("Write", map[string]string{"file_path": "a"}), "allow INFO",
		},
		{
			"outside is a place", "{tool: file:write, where: outside, action: deny}",
			tool("Write", map[string]string{"file_path": "/tmp/a"}), "deny WARN",
		},
		{"an unknown place is outside", "{tool: file:write, where: outside, action: deny}", tool("Write", nil), "deny WARN"},
		{
			"every path must be allowed", "{tool: file:write, path: docs/**, action: allow}",
			tool("fileChange", map[string]any{"changes": []map[string]string{{"path": "docs/a"}, {"path": "b"}}}),
			"confirm INFO",
		},

		{
			"a host is a pattern", "{tool: net:fetch, host: '*.example.com', action: allow}",
			tool("WebFetch", map[string]string{"url": "https://API.example.com./x"}), "allow INFO",
		},
		{
			"a host in the user part of an address does not count", "{tool: net:fetch, host: '*.example.com', action: allow}",
			tool("WebFetch", map[string]string{"url": "https://api.example.com@evil.test/"}), "confirm WARN",
		},
		{
			"curl's host counts", "{tool: ['net:fetch', 'shell:run'], host: example.com, action: allow}",
			bash("curl https://evil.test"), "confirm WARN",
		},
		{
			"an unknown host is no host", "{tool: net:fetch, host: example.com, action: deny}",
			tool("WebFetch", nil), "confirm WARN",
		},
		{
			"an argument is a pattern", "{tool: 'mcp:docs/*', args: {q: 'a*'}, action: allow}",
			tool("mcp__docs__search", map[string]string{"q": "abc"}), "allow INFO",
		},
		{
			"an argument that is not there does not match", "{tool: 'mcp:docs/*', args: {q: '*'}, action: allow}",
			tool("mcp__docs__search", map[string]string{}), "confirm WARN",
		},
		{
			"a number is its text", "{tool: 'mcp:docs/*', args: {n: '1?'}, action: allow}",
			tool("mcp__docs__search", map[string]int{"n": 12}), "allow INFO",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := rules(t, "version: 1\nrules:\n  - "+c.rule+"\n")
			if got := outcome(e.Decide(c.call)); got != c.want {
				t.Errorf("%s under %s: %s, want %s", c.call.Input, c.rule, got, c.want)
			}
		})
	}
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	t.Parallel()
	e := rules(t, `
version: 1
timeout: 10m
rules:
  - {name: one, tool: shell:run, command: git push *, action: confirm, level: CRITICAL, message: To everybody, timeout: 90s}
  - {name: two, tool: shell:run, command: git *, action: allow}
  - {name: three, tool: shell:run, command: git pull *, action: deny}
`)
	for command, want := range map[string]Decision{
		"git push": {Action: Confirm, Level: Critical, Message: "To everybody", Rule: "one", Timeout: 90 * time.Second},
		"git log":  {Action: Allow, Level: Info, Rule: "two", Timeout: 10 * time.Minute},
		"make": {
			Action: Confirm, Level: Info, Rule: "default/command", Timeout: 10 * time.Minute,
			BuiltIn: true, Shape: "INFO make",
		},
		"git log; make": {
			Action: Confirm, Level: Info, Rule: "default/command", Timeout: 10 * time.Minute,
			BuiltIn: true, Shape: "INFO make",
		},
		"git push; ls": {Action: Confirm, Level: Critical, Message: "To everybody", Rule: "one", Timeout: 90 * time.Second},
	} {
		if got := e.Decide(bash(command)); got != want {
			t.Errorf("%s: %+v, want %+v", command, got, want)
		}
	}
}

func TestWithoutTheBuiltInRulesOtherCallsAreConfirmed(t *testing.T) {
	t.Parallel()
	e := rules(t, "version: 1\nextends: none\nrules:\n  - {tool: file:read, action: allow}\n")
	for command, want := range map[string]string{"ls": "confirm WARN", "rm -rf /": "confirm CRITICAL"} {
		if got := e.Decide(bash(command)); outcome(got) != want || got.Rule != "default/none" {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if got := outcome(e.Decide(tool("Read", map[string]string{"path": "/etc/passwd"}))); got != "allow INFO" {
		t.Errorf("a read: %s", got)
	}
}

func TestLinksHideNothing(t *testing.T) {
	t.Parallel()
	top := tree(t, map[string]string{
		"ws/out": "../outside", "ws/secret": ".env", "ws/back": "../outside/in", "outside/in": "../ws/src",
		"ws/loop": "loop", "alias": "ws", "ws/docs/up": "..",
	}, "ws/.env", "ws/src/a", "ws/docs/x", "outside/a")
	e, err := Parse([]byte("version: 1\nrules:\n  - {tool: file:write, path: docs/**, action: allow}\n"), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, tool, path, want string }{
		{"a file inside", "ws", "Read", "src/a", "allow INFO"},
		{"a link that leads outside", "ws", "Read", "out/a", "confirm WARN"},
		{"a link to a secret", "ws", "Read", "secret", "confirm WARN"},
		{"a link that leads back inside", "ws", "Read", "back/a", "allow INFO"},
		{".. after a link is where the link leads", "ws", "Read", "out/../x", "confirm WARN"},
		{"a link that never ends", "ws", "Read", "loop", "confirm WARN"},
		{"a workspace that is a link", "alias", "Read", "src/a", "allow INFO"},
		{"a file that does not exist yet", "ws", "Read", "new/file", "allow INFO"},
		{"a new file behind a link", "ws", "Write", "out/new", "confirm WARN"},
		{"an allowed folder", "ws", "Write", "docs/new", "allow INFO"},
		{"a link in an allowed folder that leads elsewhere", "ws", "Write", "docs/up/src/a", "confirm INFO"},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := tool(c.tool, map[string]string{"path": c.path})
			call.Dir = filepath.Join(top, c.dir)
			if got := outcome(e.Decide(call)); got != c.want {
				t.Errorf("%s: %s, want %s", c.path, got, c.want)
			}
		})
	}
}

func TestExplainShowsEveryOperation(t *testing.T) {
	t.Parallel()
	_, steps := defaults().Explain(bash("cd src && cat a > \"$X\" | sh"))
	var got []string
	for _, s := range steps {
		got = append(got, s.Tool+" "+s.Subject+": "+outcome(s.Decision)+" "+s.Rule)
	}
	want := []string{
		"shell:run cd src: confirm INFO default/command", "file:write …: confirm CRITICAL default/write-outside",
		"shell:run cat a: confirm INFO default/command", "file:read a: allow INFO default/read",
		"shell:run sh: confirm CRITICAL default/destructive",
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheDocumentNamesTheBuiltInRulesAndTools(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range builtInRules().rules {
		_, part, _ := strings.Cut(r.name, "/")
		if !strings.Contains(string(text), "`"+r.name+"`") && !strings.Contains(string(text), "`…/"+part+"`") {
			t.Errorf("docs/policy.md does not name the rule %s", r.name)
		}
	}
	for alias := range common {
		if !strings.Contains(string(text), "`"+alias+"`") {
			t.Errorf("docs/policy.md does not name the tool %s", alias)
		}
	}
}
