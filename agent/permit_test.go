package agent

import (
	"os"
	"path/filepath"
	"testing"

	"bellhop/policy"
	"bellhop/protocol"
)

const permitRules = `
version: 1
rules:
  - {tool: shell:run, command: "echo *", action: allow}
  - {tool: file:read, path: README.md, action: deny, message: Not the README}
  - {tool: file:read, path: src/*.go, action: confirm, level: WARN, message: Look twice, timeout: 1s}
`

func underPolicy(t *testing.T) (*client, string) {
	t.Helper()
	rules, err := policy.Parse([]byte(permitRules), "test.yaml", policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := workspace(t)
	return serve(t, Options{Dir: dir, Policy: rules}), dir
}

func TestPolicyDecidesAboutTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, want string }{
		"an allowed command is not asked":    {"run echo hi", "hi\n"},
		"a denial has its reason":            {"read README.md", "Denied by policy: Not the README"},
		"no answer in time":                  {"read src/main.go", "Denied: no client answered within 1s."},
		"a link does not hide a denied file": {"read inside", "Denied by policy: Not the README"},
		"the built-in rules allow looking":   {"list src", "main.go (13 bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := underPolicy(t)
			a.send(`{"type":"input","text":"` + c.input + `"}`)
			if got := *a.until(protocol.LineToolMessage).Content; got != c.want {
				t.Errorf("the tool returned %q", got)
			}
		})
	}
}

func TestPolicyGivesTheQuestionItsLevel(t *testing.T) {
	t.Parallel()
	a, dir := underPolicy(t)
	a.send(`{"type":"input","text":"write new.txt: x"}`)
	if got := *a.until(protocol.LineConfirm).SecurityWarning; got.Level != "INFO" {
		t.Errorf("a write: %+v", got)
	}
	a.send(`{"type":"confirmation","request_id":"id-2","value":true}`)
	a.until(protocol.LineState)
	if content, err := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(content) != "x" {
		t.Errorf("written: %q, %v", content, err)
	}
}

func TestAPermissionForTheSessionCoversTheShapeOfACall(t *testing.T) {
	t.Parallel()
	a, _ := underPolicy(t)
	a.send(`{"type":"input","text":"run touch a then run touch b then run touch -c a"}`)
	first := a.until(protocol.LineConfirm)
	a.send(`{"type":"confirmation","request_id":"` + first.RequestID + `","value":true,"remember":"session"}`)
	if next := a.until(protocol.LineConfirm); string(next.Args) != `{"command":"touch -c a"}` {
		t.Errorf("asked next: %s", next.Args)
	}
}

func TestAPermissionForTheSessionNeverCoversCriticalCalls(t *testing.T) {
	t.Parallel()
	a, _ := underPolicy(t)
	a.send(`{"type":"input","text":"run touch a then run touch b then run rm -rf src"}`)
	first := a.until(protocol.LineConfirm)
	a.send(`{"type":"confirmation","request_id":"` + first.RequestID + `","value":true,"remember":"session"}`)
	second := a.until(protocol.LineConfirm)
	if second.SecurityWarning.Level != "CRITICAL" || string(second.Args) != `{"command":"rm -rf src"}` {
		t.Errorf("asked next: %s %+v", second.Args, second.SecurityWarning)
	}
}
