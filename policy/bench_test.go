package policy

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkDecide has 200 rules, of which only the last one matches.
func BenchmarkDecide(b *testing.B) {
	var file strings.Builder
	file.WriteString("version: 1\nextends: none\nrules:\n")
	for i := range 99 {
		fmt.Fprintf(&file, "  - {tool: 'shell:*', command: 'program%d {build,test} *', agent: '*', action: allow}\n", i)
		fmt.Fprintf(&file, "  - {tool: ['file:read','file:write'], path: ['area%d/**/*.go', '**/x%d/*'], project: '*', action: allow}\n", i, i)
	}
	file.WriteString("  - {tool: 'file:*', where: inside, action: allow}\n  - {tool: '*', action: confirm}\n")
	e, err := Parse([]byte(file.String()), "", Options{Home: "/home/u"})
	if err != nil {
		b.Fatal(err)
	}
	if e.Rules() != 200 {
		b.Fatalf("%d rules", e.Rules())
	}
	for name, call := range map[string]Call{
		"read":     tool("Read", map[string]string{"file_path": "/ws/internal/policy/engine.go"}),
		"write":    tool("Write", map[string]string{"file_path": "/ws/internal/policy/engine.go", "content": strings.Repeat("x", 4096)}),
		"command":  bash("git status"),
		"pipeline": bash("cd internal && go test ./... 2>&1 | tail -20"),
		"script":   bash("set -e\nfor f in a b c; do\n  go vet ./$f && go test ./$f > out/$f.log\ndone\ngit add -A && git commit -m 'x'"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Decide(call)
			}
		})
	}
}
