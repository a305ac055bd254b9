package policy

import (
	"os"
	"strings"
	"testing"
)

// documented returns the policy that docs/policy.md shows first.
func documented(t *testing.T) *Engine {
	t.Helper()
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	file, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatal("docs/policy.md shows no policy")
	}
	return rules(t, file)
}

func TestTheDocumentedPolicyAllowsOnlyItsRules(t *testing.T) {
	t.Parallel()
	e := documented(t)
	for _, c := range []struct{ command, want string }{
		{"go test ./...", "allow INFO"},
		{"go vet ./policy && go build ./...", "allow INFO"},
		{"git status -s && git diff HEAD~1 && git log --oneline -5 && git show HEAD", "allow INFO"},
		{"git --no-pager log -1", "allow INFO"},
		{"rm -rf build", "allow INFO"},
		{"./release.sh --dry-run", "allow INFO"},
		{"curl https://api.example.com/x", "confirm INFO"}, // a rule allows the address, none the command
		{"curl https://evil.test/x", "deny WARN"},
		{"git push origin main", "confirm CRITICAL"},
		{"git push --force", "confirm CRITICAL"},
		{"git -C . push", "confirm CRITICAL"},
		{"git fetch origin", "deny WARN"},

		{"go run .", "confirm INFO"},
		{"go generate ./...", "confirm CRITICAL"},
		{"go test -exec ./x ./...", "confirm CRITICAL"},
		{"go build -toolexec=./x .", "confirm CRITICAL"},
		{"go vet -vettool=./x .", "confirm CRITICAL"},
		{"go build -o bin/x .", "confirm INFO"},
		{"go build -o /tmp/x .", "confirm WARN"},
		{"go test -coverprofile=/tmp/x ./...", "confirm WARN"},
		{"git -c core.pager='rm x' log", "confirm CRITICAL"},
		{"git -C .. log", "confirm CRITICAL"},
		{"git diff --output=x", "confirm INFO"},
		{"git diff --output=../x", "confirm WARN"},
		{"git diff --no-index a b", "confirm CRITICAL"},
		{"git diff /etc/passwd /dev/null", "confirm WARN"},
		{"git diff --ext-diff", "confirm CRITICAL"},
		{"git log $X", "confirm CRITICAL"},
		{"git log *", "confirm CRITICAL"},
		{"GIT_PAGER=x git log", "confirm CRITICAL"},
		{"env git log", "confirm CRITICAL"},
		{"cd .. && git log", "confirm CRITICAL"},
		{"cd src && git log", "confirm CRITICAL"},
		{"git log; python3 -c 'x'", "confirm CRITICAL"},
		{"git log > ../x", "confirm CRITICAL"},
		{"git log > x", "confirm INFO"},
		{"rm -rf build src", "confirm CRITICAL"},
		{"rm -rf ./build", "confirm CRITICAL"},
		{"rm -rf build/..", "confirm CRITICAL"},
		{"cd src && rm -rf build", "confirm CRITICAL"},
		{"cd / && rm -rf build", "confirm CRITICAL"},
		{"./release.sh", "confirm CRITICAL"},
		{"./release.sh --dry-run x", "confirm CRITICAL"},
		{"cd src && ./release.sh --dry-run", "confirm CRITICAL"},
		{"A=1 ./release.sh --dry-run", "confirm CRITICAL"},
		{"cat x | ./release.sh --dry-run", "confirm CRITICAL"},
		{"./release.sh --dry-run < x", "confirm CRITICAL"},
	} {
		if got := outcome(e.Decide(bash(c.command))); got != c.want {
			t.Errorf("%s: %s, want %s", c.command, got, c.want)
		}
	}
	for path, want := range map[string]string{
		"docs/a.md": "allow INFO", "docs/deep/a.md": "allow INFO", "docs/../a.md": "confirm INFO",
		"a.md": "confirm INFO", "docs/.git/config": "confirm CRITICAL",
	} {
		if got := outcome(e.Decide(tool("Write", map[string]string{"file_path": path}))); got != want {
			t.Errorf("a write of %s: %s, want %s", path, got, want)
		}
	}
}

func TestAShapeCoversTheSameKindOfCall(t *testing.T) {
	t.Parallel()
	e := rules(t, "version: 1\n")
	for _, c := range []struct {
		name string
		a, b Call
		same bool
	}{
		{"other files", bash("touch a"), bash("touch b"), true},
		{"other text", bash("git commit -m x"), bash("git commit -m 'y z'"), true},
		{"the same package", bash("go test ./a"), bash("go test ./a"), true},
		{"another package", bash("go test ./a"), bash("go test ./b"), false},
		{"options in another order", bash("ls -l -a"), bash("ls -al"), true},
		{"another option", bash("touch a"), bash("touch -c a"), false},
		{"another subcommand", bash("go test ./..."), bash("go vet ./..."), false},
		{"another program", bash("touch a"), bash("mkdir a"), false},
		{"another target", bash("make test"), bash("make deploy"), false},
		{"another remote", bash("git push origin main"), bash("git push evil main"), false},
		{"another command behind it", bash("touch a"), bash("touch a; mkdir b"), false},
		{"a file outside", bash("touch a"), bash("touch ../a"), false},
		{"another file outside", bash("touch ../a"), bash("touch ../b"), false},
		{"another deletion", bash("rm a"), bash("rm b"), false},
		{"another host", bash("curl https://a.test"), bash("curl https://b.test"), false},
		{"another address of the host", bash("curl https://a.test/x"), bash("curl https://a.test/y"), true},
		{
			"another write inside", tool("Write", map[string]string{"path": "a"}),
			tool("Write", map[string]string{"path": "b"}), true,
		},
		{
			"a write outside", tool("Write", map[string]string{"path": "/tmp/a"}),
			tool("Write", map[string]string{"path": "/tmp/b"}), false,
		},
		{
			"other arguments of a server's tool", tool("mcp__a__b", map[string]string{"q": "x"}),
			tool("mcp__a__b", map[string]string{"q": "y"}), false,
		},
		{
			"the same arguments", tool("mcp__a__b", map[string]any{"q": "x", "r": 1}),
			tool("mcp__a__b", map[string]any{"r": 1, "q": "x"}), true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := e.Decide(c.a).Shape, e.Decide(c.b).Shape
			if a == "" || b == "" || (a == b) != c.same {
				t.Errorf("shapes %q and %q", a, b)
			}
		})
	}
}

func TestWhatMayNotBeRememberedHasNoShape(t *testing.T) {
	t.Parallel()
	e := rules(t, "version: 1\nrules:\n  - {tool: shell:run, command: git log *, action: deny}\n")
	for _, command := range []string{
		"rm -rf build", "python3 x.py", "env ls", "A=1 ls", "ls > ../x", "cat *", `cat "./$X"`, "$X", "git log",
		"echo x > .git/config", `curl "https://$X"`,
	} {
		if d := e.Decide(bash(command)); d.Shape != "" {
			t.Errorf("%s: %+v", command, d)
		}
	}
}
