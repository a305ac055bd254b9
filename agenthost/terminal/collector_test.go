package terminal_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/core"
	"bellhop/agenthost/terminal"
	"bellhop/protocol"
)

var at = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func newCollector() *terminal.Collector {
	return terminal.NewCollector(func() time.Time { return at })
}

// shown writes turns as a line each: id, prompt, items, outcome.
func shown(turns []terminal.Turn) []string {
	out := []string{}
	for i := range turns {
		turn := &turns[i]
		items := []string{}
		for _, item := range turn.Items {
			switch {
			case item.Call != nil:
				items = append(items, "call "+item.Call.ID)
			case item.Result != nil:
				items = append(items, "result "+item.Result.ID)
			default:
				items = append(items, "text "+item.Text)
			}
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %q [%s] %s %s%s", turn.ID, turn.Prompt,
			strings.Join(items, ", "), turn.Outcome.FinishReason, turn.Outcome.Reason, turn.Outcome.Err)))
	}
	return out
}

func TestReportsBecomeTurns(t *testing.T) {
	t.Parallel()
	began := terminal.Report{Began: true, ID: "t1", Prompt: "go"}
	call := terminal.Report{Call: &core.ToolCall{ID: "c1", Name: "ls"}}
	result := terminal.Report{Result: &core.ToolResult{ID: "c1"}}
	for _, c := range []struct {
		name    string
		reports []terminal.Report
		want    []string
	}{
		{
			"a whole turn",
			[]terminal.Report{began, call, result, {Ended: true, Text: "done"}},
			[]string{`t1 "go" [call c1, result c1, text done]`},
		},
		{"a turn without a text", []terminal.Report{began, {Ended: true}}, []string{`t1 "go" []`}},
		{
			"a turn that failed",
			[]terminal.Report{began, {Ended: true, Text: "sorry", Failed: "no quota"}},
			[]string{`t1 "go" [text sorry] error no quota`},
		},
		{
			"Esc, then the next prompt",
			[]terminal.Report{began, call, {Began: true, ID: "t2", Prompt: "again"}, {Ended: true}},
			[]string{`t1 "go" [call c1] other ` + protocol.ReasonAborted, `t2 "again" []`},
		},
		{
			"Esc, then the end of the program",
			[]terminal.Report{began, call, {}},
			[]string{`t1 "go" [call c1] other ` + protocol.ReasonAborted},
		},
		{
			"reports without a prompt before them",
			[]terminal.Report{call, result, {Ended: true, Text: "done"}, {}},
			[]string{},
		},
		{"a turn that goes on", []terminal.Report{began, call, result}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			collector := newCollector()
			over := []terminal.Turn{}
			for i := range c.reports {
				over = append(over, collector.Add(terminal.Key{Session: "s1", Program: "tui"}, &c.reports[i])...)
			}
			if got := shown(over); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			for _, turn := range over {
				for _, item := range turn.Items {
					if !item.At.Equal(at) {
						t.Errorf("%+v is not of %v", item, at)
					}
				}
			}
		})
	}
}

func TestTurnsOfProgramsAreApart(t *testing.T) {
	t.Parallel()
	c := newCollector()
	keys := []terminal.Key{{"s1", "a"}, {"s1", "b"}, {"s2", "a"}}
	for i, key := range keys {
		c.Add(key, &terminal.Report{Began: true, ID: fmt.Sprint("t", i)})
	}
	c.Drop(keys[1])
	for i, want := range [][]string{{`t0 "" []`}, {}, {`t2 "" []`}} {
		if got := shown(c.Add(keys[i], &terminal.Report{Ended: true})); !slices.Equal(got, want) {
			t.Errorf("%v: got %q, want %q", keys[i], got, want)
		}
	}
}

// The reports come from programs that the host does not run: their number and size are bounded.
func TestCollectedTurnsAreBounded(t *testing.T) {
	t.Parallel()
	const programs, bytes = 256, 4 << 20
	c := newCollector()
	key := func(i int) terminal.Key { return terminal.Key{Session: "s1", Program: fmt.Sprint(i)} }
	for i := range programs {
		c.Add(key(i), &terminal.Report{Began: true})
	}
	half := json.RawMessage(strings.Repeat("1", bytes/2))
	for range 3 {
		c.Add(key(0), &terminal.Report{Call: &core.ToolCall{Input: half}})
	}
	if over := c.Add(key(0), &terminal.Report{Ended: true, Text: "done"}); len(over) != 1 || len(over[0].Items) != 3 {
		t.Errorf("want two calls and the text of the long turn: %.200q", shown(over))
	}
	for range 600 {
		c.Add(key(1), &terminal.Report{Call: &core.ToolCall{}})
	}
	over := c.Add(key(1), &terminal.Report{Ended: true, Text: "done"})
	if len(over) != 1 || len(over[0].Items) != 500 || over[0].Items[499].Text != "done" {
		t.Error("want 499 calls and the text of the turn with many calls")
	}
}

// A program that was killed reports no end. Its turn must not keep others from being collected.
func TestTheTurnOfASilentProgramGivesItsPlaceToAnother(t *testing.T) {
	t.Parallel()
	now := at
	c := terminal.NewCollector(func() time.Time { return now })
	key := func(i int) terminal.Key { return terminal.Key{Session: "s1", Program: fmt.Sprint(i)} }
	const programs = 256
	for i := range programs {
		now = now.Add(time.Second)
		c.Add(key(i), &terminal.Report{Began: true, ID: fmt.Sprint("t", i)})
	}
	now = now.Add(time.Second)
	c.Add(key(0), &terminal.Report{Call: &core.ToolCall{ID: "c1"}}) // program 1 is silent for longest now
	now = now.Add(time.Second)
	c.Add(key(programs), &terminal.Report{Began: true, ID: "another"})
	for i, want := range map[int][]string{
		0: {`t0 "" [call c1]`}, 1: {}, 2: {`t2 "" []`}, programs: {`another "" []`},
	} {
		if got := shown(c.Add(key(i), &terminal.Report{Ended: true})); !slices.Equal(got, want) {
			t.Errorf("program %d: got %q, want %q", i, got, want)
		}
	}
	c.Add(key(3), &terminal.Report{Began: true, ID: "again"}) // its turn is collected already
	if got, want := shown(c.Add(key(4), &terminal.Report{Ended: true})), []string{`t4 "" []`}; !slices.Equal(got, want) {
		t.Errorf("a program's next prompt: got %q, want %q", got, want)
	}
}
