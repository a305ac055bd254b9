package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// manyRules has 200 rules, of which only the last one matches.
func manyRules(b *testing.B) *Engine {
	b.Helper()
	var file strings.Builder
	file.WriteString("version: 1\nextends: none\nrules:\n")
	for i := range 99 {
		fmt.Fprintf(&file, "  - {tool: 'shell:*', command: 'program%d {build,test} *', agent: '*', action: allow}\n", i)
		fmt.Fprintf(&file,
			"  - {tool: ['file:read','file:write'], path: ['area%d/**/*.go', '**/x%d/*'], project: '*', action: allow}\n", i, i)
	}
	file.WriteString("  - {tool: 'file:*', where: inside, action: allow}\n  - {tool: '*', action: confirm}\n")
	e, err := Parse([]byte(file.String()), "", Options{Home: "/home/u"})
	if err != nil {
		b.Fatal(err)
	}
	if e.Rules() != 200 {
		b.Fatalf("%d rules", e.Rules())
	}
	return e
}

func BenchmarkDecide(b *testing.B) {
	e := manyRules(b)
	for name, call := range map[string]Call{
		"read": tool("Read", map[string]string{"file_path": "/ws/internal/policy/engine.go"}),
		"write": tool("Write", map[string]string{
			"file_path": "/ws/internal/policy/engine.go", "content": strings.Repeat("x", 4096),
		}),
		"command":  bash("git status"),
		"pipeline": bash("cd internal && go test ./... 2>&1 | tail -20"),
		"script": bash("set -e\nfor f in a b c; do\n  go vet ./$f && go test ./$f > out/$f.log\ndone\ngit add -A && " +
			"git commit -m 'x'"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Decide(call)
			}
		})
	}
}

// BenchmarkCorpus decides about every call of the corpus of bypasses with 200 rules,
// and reports the slowest percent. The budget is 5 ms.
func BenchmarkCorpus(b *testing.B) {
	e := manyRules(b)
	var calls []Call
	for _, file := range bypassFiles(b) {
		for _, c := range readBypasses(b, file) {
			calls = append(calls, c.call)
		}
	}
	var times []time.Duration
	for b.Loop() {
		for _, c := range calls {
			start := time.Now()
			e.Decide(c)
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(len(times)), "µs/call")
}

func BenchmarkATreeOf100000Files(b *testing.B) {
	e := defaults()
	c := tool("Grep", map[string]any{"pattern": "x"})
	c.Files = func(each func(string, bool)) error {
		for i := range 100_000 {
			each("node_modules/@scope/package/dist/module/file"+strconv.Itoa(i)+".d.ts", true)
		}
		return nil
	}
	for b.Loop() {
		e.Decide(c)
	}
}
