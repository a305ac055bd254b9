package bench

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bellhop/policy"
)

// decisions measures policy decisions in this process, in turns with parsing the
// calls' JSON.
func decisions(r *run) (rows []row) {
	engine := must(policy.Parse([]byte(manyRules()), "", policy.Options{Home: "/home/user"}))
	for _, c := range []struct {
		what, tool string
		input      map[string]string
	}{
		{"a read of a file", "Read", map[string]string{"file_path": "/ws/internal/policy/engine.go"}},
		{"a write of 4 KiB", "Write", map[string]string{
			"file_path": "/ws/internal/policy/engine.go",
			"content":   strings.Repeat("x", 4096),
		}},
		{"one command", "Bash", map[string]string{"command": "git status"}},
		{"a script of six commands", "Bash", map[string]string{
			"command": "set -e\nfor f in a b c; do\n  go vet ./$f && go test ./$f > out/$f.log\ndone\ngit add -A && git " +
				"commit -m 'x'",
		}},
	} {
		call := policy.Call{Agent: "claude", Project: "shop", Dir: "/ws", Tool: c.tool, Input: must(json.Marshal(c.input))}
		span := r.scale.round / 10
		t := inTurns(r, func() time.Duration { return timeOf(span, func() { engine.Decide(call) }) }, func() time.Duration {
			return timeOf(span, func() { check(json.Unmarshal(call.Input, new(map[string]any))) })
		})
		rows = append(rows, row{
			what:   fmt.Sprintf("%d rules, the last matches: %s", engine.Rules(), c.what),
			figure: brief(median(t.own)),
			beside: "json.Unmarshal of its input: " + brief(median(t.yard)),
			ratio:  ratio(t.own, t.yard),
			bound:  "one core: patterns, links on the paths, for commands the shell's grammar",
		})
	}
	return rows
}

// manyRules returns 200 rules, of which only the last two match.
func manyRules() string {
	var file strings.Builder
	file.WriteString("version: 1\nextends: none\nrules:\n")
	for i := range 99 {
		fmt.Fprintf(&file, "  - {tool: 'shell:*', command: 'program%d {build,test} *', agent: '*', action: allow}\n", i)
		fmt.Fprintf(&file, "  - {tool: ['file:read','file:write'], path: ['area%d/**/*.go', '**/x%d/*'], project: '*', "+
			"action: allow}\n", i, i)
	}
	file.WriteString("  - {tool: 'file:*', where: inside, action: allow}\n  - {tool: '*', action: confirm}\n")
	return file.String()
}

// timeOf measures one call of f, averaged over a span.
func timeOf(span time.Duration, f func()) time.Duration {
	n, start := 0, time.Now()
	for ; time.Since(start) < span; n += 16 {
		for range 16 { // reading the clock takes time too
			f()
		}
	}
	return time.Since(start) / time.Duration(n)
}
