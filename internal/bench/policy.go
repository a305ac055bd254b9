package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bellhop/policy"
)

// measurePolicy decides about calls in this process, in turns with reading their
// JSON.
func measurePolicy(ctx context.Context, b *bench) ([]row, error) {
	engine, err := policy.Parse([]byte(manyRules()), "", policy.Options{Home: "/home/user"})
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range []struct {
		what, tool string
		input      map[string]string
	}{
		{"a read of a file", "Read", map[string]string{"file_path": "/ws/internal/policy/engine.go"}},
		{"a write of 4 KiB", "Write", map[string]string{"file_path": "/ws/internal/policy/engine.go", "content": strings.Repeat("x", 4096)}},
		{"one command", "Bash", map[string]string{"command": "git status"}},
		{"a script of six commands", "Bash", map[string]string{
			"command": "set -e\nfor f in a b c; do\n  go vet ./$f && go test ./$f > out/$f.log\ndone\ngit add -A && git commit -m 'x'",
		}},
	} {
		input, err := json.Marshal(c.input)
		if err != nil {
			return nil, err
		}
		call := policy.Call{Agent: "claude", Project: "shop", Dir: "/ws", Tool: c.tool, Input: input}
		r, err := decisions(ctx, b.scale, engine, call)
		if err != nil {
			return nil, err
		}
		r.what = fmt.Sprintf("a decision by %d rules, of which the last matches: %s", engine.Rules(), c.what)
		rows = append(rows, r)
	}
	return rows, nil
}

// manyRules are 200, none of which matches before the last two.
func manyRules() string {
	var file strings.Builder
	file.WriteString("version: 1\nextends: none\nrules:\n")
	for i := range 99 {
		fmt.Fprintf(&file, "  - {tool: 'shell:*', command: 'program%d {build,test} *', agent: '*', action: allow}\n", i)
		fmt.Fprintf(&file, "  - {tool: ['file:read','file:write'], path: ['area%d/**/*.go', '**/x%d/*'], project: '*', action: allow}\n", i, i)
	}
	file.WriteString("  - {tool: 'file:*', where: inside, action: allow}\n  - {tool: '*', action: confirm}\n")
	return file.String()
}

func decisions(ctx context.Context, s scale, engine *policy.Engine, call policy.Call) (row, error) {
	span := s.round / 10
	var times, yard []time.Duration
	var ratios []float64
	for range s.rounds {
		if err := ctx.Err(); err != nil {
			return row{}, err
		}
		decide := each(span, func() { engine.Decide(call) })
		read := each(span, func() {
			var input map[string]any
			_ = json.Unmarshal(call.Input, &input) // it was marshalled above
		})
		times, yard = append(times, decide), append(yard, read)
		ratios = append(ratios, float64(decide)/float64(max(read, 1)))
	}
	return row{
		figure: brief(median(times)),
		beside: "json.Unmarshal of its input: " + brief(median(yard)),
		ratio:  ratioOf(ratios),
		bound:  "one core: the rules' patterns, links on the paths (a system call for each element), and for commands the shell's grammar",
	}, nil
}

// each is the time of one call of f, of as many as fit into a span.
func each(span time.Duration, f func()) time.Duration {
	n, start := 0, time.Now()
	for time.Since(start) < span {
		for range 16 { // the clock is not free
			f()
		}
		n += 16
	}
	return time.Since(start) / time.Duration(n)
}
