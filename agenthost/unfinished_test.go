package agenthost_test

import (
	"fmt"
	"testing"

	"bellhop/protocol"
)

// A call that was not finished must not look like a running one for ever.
func TestCallsWithoutAResultFailWithTheirTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.turn("s1", "t1", callTool("c2", "build", `{}`), callTool("c1", "test", `{}`), toolResult("c1", `"ok"`))
	r.delivered()
	var results []string
	for _, e := range r.broker.of("s1") {
		if e.Type == protocol.EventToolResult {
			results = append(results, fmt.Sprint(e.ToolCallID, " ", e.IsError))
		}
	}
	wantLines(t, "results", results, []string{"c1 false", "c2 true"})
	lines := summary(r.broker.of("s1"))
	wantLines(t, "the end", withoutTimes(lines[len(lines)-2:], " none "), []string{"t1 finish stop ", "t1 status idle "})
}
