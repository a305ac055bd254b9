//go:build linux

package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"bellhop/internal/torture/check"
)

// conversation runs the scripted agent on pipes.
type conversation struct {
	t      *testing.T
	in     *json.Encoder
	lines  *bufio.Scanner
	ledger string
}

func converse(t *testing.T) *conversation {
	t.Helper()
	toAgent, input := io.Pipe()
	output, fromAgent := io.Pipe()
	c := &conversation{
		t: t, in: json.NewEncoder(input), lines: bufio.NewScanner(output), ledger: filepath.Join(t.TempDir(), "ledger"),
	}
	ended := make(chan error, 1)
	go func() { ended <- Agent(context.Background(), toAgent, fromAgent, c.ledger) }()
	t.Cleanup(func() {
		_ = input.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *conversation) send(l line) {
	c.t.Helper()
	if err := c.in.Encode(l); err != nil {
		c.t.Fatal(err)
	}
}

// turn reads lines to the end of a turn; it returns the contents and the reason.
func (c *conversation) turn(each func(line)) (contents []check.Content, reason string) {
	c.t.Helper()
	for c.lines.Scan() {
		var l line
		if err := json.Unmarshal(c.lines.Bytes(), &l); err != nil {
			c.t.Fatal(err)
		}
		switch l.Type {
		case "message":
			contents = append(contents, check.Content{Type: check.Text, Text: l.Content})
		case "tool_start":
			contents = append(contents, check.Content{Type: check.ToolCall, Call: l.ID})
		case "tool_message":
			contents = append(contents, check.Content{Type: check.ToolResult, Call: l.ID, Text: l.Content})
		case "state":
			return contents, l.Reason
		}
		if each != nil {
			each(l)
		}
	}
	c.t.Fatal("the agent has ended")
	return nil, ""
}

func TestTheScriptedAgentPlaysWhatIsExpected(t *testing.T) {
	c := converse(t)
	for _, s := range []script{{label: "a", steps: 9}, {label: "b", steps: 1}} {
		c.send(line{Type: "input", Text: s.prompt(), SessionID: "s"})
		got, reason := c.turn(nil)
		if reason != "done" || !reflect.DeepEqual(got, s.expected()) {
			t.Errorf("%s: %v", reason, got)
		}
	}
	ledger, err := os.ReadFile(c.ledger)
	if err != nil || string(ledger) != "a\nb\n" {
		t.Errorf("ledger %q, %v", ledger, err)
	}
}

func TestAnInterruptEndsTheScript(t *testing.T) {
	c := converse(t)
	s := script{label: "a", steps: 1000, pause: 1e6}
	c.send(line{Type: "input", Text: s.prompt()})
	sent := false
	got, reason := c.turn(func(line) {
		if !sent {
			sent = true
			c.send(line{Type: "interrupt"})
		}
	})
	if reason != "interrupted" || len(got) >= len(s.expected()) {
		t.Errorf("%s after %d contents", reason, len(got))
	}
}
