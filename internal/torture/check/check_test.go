package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bellhop/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample is a small valid observation: two sessions with three turns each, read and confirmed.
func sample() *Observation {
	o := &Observation{}
	for i := range 2 {
		b := &builder{Session: &Session{ID: fmt.Sprintf("task-%d", i)}}
		for n := range 3 {
			b.turn(n)
		}
		s := b.Session
		s.Rows, s.Served, s.Displayed = s.Journal, s.Journal, s.Messages
		s.Acknowledged, s.BrokerAt = s.Cursor, s.Cursor
		o.Sessions = append(o.Sessions, clone(s)) // no two lists share their elements
	}
	return o
}

type builder struct {
	*Session
	offset int
	conn   Connection
}

// turn appends a turn of a text, a tool, a text and a finish, with everything that it leaves.
func (b *builder) turn(n int) {
	turn, label := fmt.Sprintf("turn-%d", n), fmt.Sprintf("label-%d", n)
	sent := Sent{MessageID: "m-" + label, Label: label, Text: "do " + label, Turns: []string{turn}, Tokens: int64(n + 1)}
	b.message(Message{ID: sent.MessageID, Turn: turn, Role: "USER", Status: "SENT", Text: sent.Text})
	b.conn = Connection{}
	b.event(turn, "status", `"status":"busy"`)
	for _, text := range []string{"one", "two"} {
		sent.Expected = append(sent.Expected, b.text(turn, label+" "+text))
	}
	sent.Expected = append(sent.Expected, b.tool(turn, "call-"+label)...)
	finish := b.event(turn, Finish, fmt.Sprintf(`"finishReason":"stop","totalUsage":{"outputTokens":%d}`, n+1))
	b.frame(Frame{Type: "finish", Event: finish.ID, Turn: turn})
	b.Sent = append(b.Sent, sent)
	b.Prompts = append(b.Prompts, LedgerEntry{label, 1})
	b.HostTurns = append(b.HostTurns, HostTurn{ID: turn, State: "finished", Started: true})
	b.Turns = append(b.Turns, BrokerTurn{
		ID: turn, MessageID: sent.MessageID, State: "closed", FinishReason: "stop",
		Usage: fmt.Sprintf(`{"outputTokens":%d}`, n+1),
	})
	b.Used = Used{Turns: b.Used.Turns + 1, Tokens: b.Used.Tokens + int64(n+1)}
	b.Readings = append(b.Readings, Reading{Connections: []Connection{b.conn}})
}

func (b *builder) event(turn, kind, members string) Event {
	b.Cursor = Cursor{1, b.Cursor.Seq + 1}
	e := Event{
		At: b.Cursor, ID: fmt.Sprintf("%s-e%d", b.ID, b.Cursor.Seq), Turn: turn, Type: kind, Body: "{" + members + "}",
	}
	b.Journal = append(b.Journal, e)
	b.Receipts = append(b.Receipts, Receipt{Events: []string{e.ID}, Last: e.At, Status: 200, Accepted: 1, Cursor: e.At})
	return e
}

func (b *builder) message(m Message) {
	m.Seq = int64(len(b.Messages) + 1)
	b.Messages = append(b.Messages, m)
}

func (b *builder) frame(f Frame) {
	b.offset++
	f.ID = fmt.Sprintf("1-%d", b.offset)
	b.conn.Frames = append(b.conn.Frames, f)
}

func (b *builder) text(turn, text string) Content {
	e := b.event(turn, Text, fmt.Sprintf(`"text":%q`, text))
	b.message(Message{ID: "of-" + e.ID, Turn: turn, Role: "ASSISTANT", Status: "SENT", Text: text, EventID: e.ID})
	b.frame(Frame{Type: "text-start", Block: e.ID})
	b.frame(Frame{Type: "text-delta", Block: e.ID, Text: text[:2]})
	b.frame(Frame{Type: "text-delta", Block: e.ID, Text: text[2:]})
	b.frame(Frame{Type: "text-end", Block: e.ID, Event: e.ID, Turn: turn})
	return Content{Type: Text, Text: text}
}

func (b *builder) tool(turn, call string) []Content {
	e := b.event(turn, ToolCall, fmt.Sprintf(`"toolCallId":%q`, call))
	b.frame(Frame{Type: "tool-call", Event: e.ID, Turn: turn})
	result := b.event(turn, ToolResult, fmt.Sprintf(`"toolCallId":%q,"output":"out"`, call))
	b.frame(Frame{Type: "tool-result", Event: result.ID, Turn: turn})
	b.message(Message{
		ID: "of-" + e.ID, Turn: turn, Role: "ASSISTANT", Status: "SENT", EventID: e.ID,
		Tools: []Tool{{Call: call, State: "done", Output: `"out"`}},
	})
	return []Content{{Type: ToolCall, Call: call}, {Type: ToolResult, Call: call, Text: "out"}}
}

func TestAValidObservationHasNoViolation(t *testing.T) {
	t.Parallel()
	for _, v := range Run(sample()) {
		t.Error(v)
	}
}

func TestEveryMutationIsCaught(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testenv.Rounds(t)) {
		result := TestSelf(sample(), seed)
		for _, missed := range result.Missed {
			t.Errorf("seed %d: missed %s", seed, missed)
		}
		if result.Kinds != len(mutations) || result.Caught != len(mutations)*triesPerKind {
			t.Errorf("seed %d: %d of %d kinds were tried, %d caught", seed, result.Kinds, len(mutations), result.Caught)
		}
	}
}

// A restored journal excuses texts that a reader saw and rows that are late. Damage to those would
// prove nothing, so the self-test takes others.
func TestEveryMutationIsCaughtAfterARestore(t *testing.T) {
	t.Parallel()
	o := sample()
	for _, s := range o.Sessions {
		s.JournalRestores, s.DatabaseRestores = 1, 1
		s.Sent = append(s.Sent, Sent{MessageID: "m-lost", Label: "lost", Text: "lost", Turns: []string{"never"}})
		last := s.Rows[len(s.Rows)-1]
		s.Unsent = append(s.Unsent, Event{ID: "gone", At: Cursor{1, last.At.Seq + 1}, Turn: last.Turn, Type: Text})
		for i := range s.Readings {
			c := &s.Readings[i].Connections[0]
			for n, f := range []Frame{
				{Type: "text-start"}, {Type: "text-delta", Text: "lost"}, {Type: "text-end", Event: "gone", Turn: last.Turn},
			} {
				f.ID, f.Block = fmt.Sprintf("0-%d", n+1), "gone"
				c.Frames = slices.Insert(c.Frames, n, f)
			}
		}
		late := Event{At: Cursor{2, 1}, ID: "other-epoch", Turn: last.Turn, Type: Text, Body: `{"text":"label-2 one"}`}
		s.Forgotten, s.Rows = append(s.Forgotten, late), append(s.Rows, late)
		m := Message{
			ID: "of-late", Seq: 99, Turn: last.Turn, Role: "ASSISTANT", Status: "SENT", Text: "label-2 one", EventID: late.ID,
		}
		s.Messages, s.Displayed = append(s.Messages, m), append(s.Displayed, m)
	}
	for _, v := range Run(o) {
		t.Fatal(v)
	}
	for seed := range uint64(testenv.Rounds(t)) {
		for _, missed := range TestSelf(o, seed).Missed {
			t.Errorf("seed %d: missed %s", seed, missed)
		}
	}
}

func TestThereAreTwentyKindsOfLossDoublingOrderAndReceipt(t *testing.T) {
	t.Parallel()
	kinds := map[string]int{}
	for _, m := range mutations {
		kind, _, _ := strings.Cut(m.name, ":")
		kinds[kind]++
	}
	if n := kinds["loss"] + kinds["doubling"] + kinds["order"] + kinds["receipt"]; n < 20 {
		t.Errorf("only %d: %v", n, kinds)
	}
	for _, kind := range []string{"loss", "doubling", "order", "receipt"} {
		if kinds[kind] < 5 {
			t.Errorf("only %d kinds of %s", kinds[kind], kind)
		}
	}
}

// What a restored journal explains is no violation; without the restore it is.
func TestARestoreExplainsWhatItMayLose(t *testing.T) {
	t.Parallel()
	damage := func(s *Session) {
		last := s.Rows[len(s.Rows)-1]
		s.Unsent = append(s.Unsent, Event{ID: "gone", At: Cursor{1, last.At.Seq + 1}, Turn: last.Turn, Type: Text})
		c := &s.Readings[2].Connections[0]
		c.Frames = append(c.Frames, Frame{ID: "2-1", Type: "text-end", Event: "gone", Turn: last.Turn})
		s.Prompts[2].Times = 2
	}
	for _, restores := range []int{0, 1} {
		o := sample()
		damage(o.Sessions[0])
		o.Sessions[0].JournalRestores = restores
		if found := Run(o); (len(found) == 0) != (restores == 1) {
			t.Errorf("%d restores: %v", restores, found)
		}
	}
}

// A turn that a restored journal had forgotten runs again. Its tool may end in another way then, and
// each end has a message.
func TestATurnThatRanAgainHasTheEndsOfBothRuns(t *testing.T) {
	t.Parallel()
	for _, swapped := range []bool{false, true} {
		o := sample()
		s := o.Sessions[0]
		turn := s.Sent[2].Turns[0]
		call := Event{At: Cursor{2, 1}, ID: "call-again", Turn: turn, Type: ToolCall, Body: `{"toolCallId":"call-label-2"}`}
		result := Event{
			At: Cursor{2, 2}, ID: "result-again", Turn: turn, Type: ToolResult,
			Body: `{"toolCallId":"call-label-2","output":"The turn ended before this tool had: host-restarted","isError":true}`,
		}
		s.Forgotten, s.Rows = append(s.Forgotten, call, result), append(s.Rows, call, result)
		again := Message{
			ID: "of-again", Seq: 99, Turn: turn, Role: "ASSISTANT", Status: "SENT", EventID: call.ID,
			Tools: []Tool{
				{Call: "call-label-2", State: "error", Output: `"The turn ended before this tool had: host-restarted"`},
			},
		}
		s.Messages, s.JournalRestores = append(s.Messages, again), 1
		if swapped {
			first := slices.IndexFunc(s.Messages, func(m Message) bool { return len(m.Tools) > 0 && m.Turn == turn })
			last := len(s.Messages) - 1
			s.Messages[first].Tools, s.Messages[last].Tools = s.Messages[last].Tools, s.Messages[first].Tools
		}
		s.Displayed = slices.Clone(s.Messages)
		if found := Run(o); (len(found) > 0) != swapped {
			t.Errorf("swapped %v: %v", swapped, found)
		}
	}
}

// A database that went back may lack a message, or have a turn twice, that no host has begun.
func TestARestoredDatabaseExplainsWhatNoHostHasBegun(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(s *Session, turn string){
		"a message is lost": func(s *Session, turn string) {
			s.Sent = append(s.Sent, Sent{MessageID: "m-lost", Label: "lost", Text: "lost", Turns: []string{turn}})
		},
		"a turn is of no message": func(s *Session, turn string) {
			b := &builder{Session: s}
			finish := b.event(turn, Finish, `"finishReason":"other","reason":"not-started"`)
			s.Rows, s.Served = append(s.Rows, finish), append(s.Served, finish)
			s.Acknowledged, s.BrokerAt = s.Cursor, s.Cursor
			s.Turns = append(s.Turns, BrokerTurn{ID: turn, State: "closed", FinishReason: "other", Reason: "not-started"})
		},
		"a turn stays announced, its message has another": func(s *Session, turn string) {
			s.Turns = append(s.Turns, BrokerTurn{ID: turn, MessageID: s.Sent[0].MessageID, State: "announced"})
		},
	} {
		for _, c := range []struct {
			restores int
			begun    bool
		}{{0, false}, {1, false}, {1, true}} {
			o := sample()
			s := o.Sessions[0]
			damage(s, "turn-lost")
			s.DatabaseRestores = c.restores
			if c.begun {
				s.HostTurns = append(s.HostTurns, HostTurn{ID: "turn-lost", State: "finished", Started: true})
			}
			if found := Run(o); (len(found) == 0) != (c.restores == 1 && !c.begun) {
				t.Errorf("%s, %d restores, begun %v: %v", name, c.restores, c.begun, found)
			}
		}
	}
}

// After a restore of the database a message comes back with the turn that its host ran. A turn that
// was announced for it in the meantime stays so until its tokens expire.
func TestARestoreLeavesAnAnnouncedTurnBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		restores int
		state    string
		started  bool
		turn     string // of the message
		valid    bool
	}{
		{"another turn of the message ran", 1, "announced", false, "turn-0", true},
		{"no restore", 0, "announced", false, "turn-0", false},
		{"it is open", 1, "open", true, "turn-0", false},
		{"its message has no other turn", 1, "announced", false, "turn-left", false},
	} {
		o := sample()
		s := o.Sessions[0]
		s.DatabaseRestores = c.restores
		s.Turns = append(s.Turns, BrokerTurn{ID: "turn-left", MessageID: s.Sent[0].MessageID, State: "announced"})
		s.HostTurns = append(s.HostTurns, HostTurn{ID: "turn-left", State: c.state, Started: c.started})
		(&editor{Session: s}).changeMessages(
			func(m Message) bool { return m.ID == s.Sent[0].MessageID }, func(m *Message) { m.Turn = c.turn })
		if found := Run(o); (len(found) == 0) != c.valid {
			t.Errorf("%s: %v", c.name, found)
		}
	}
}

// The agent's own ledger shows that a prompt was begun, also if the journal does not. A turn that
// ended in another way than not-started was begun, too.
func TestARestoredDatabaseExcusesNothingThatWasBegun(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(s *Session){
		"a message that the agent has begun is lost": func(s *Session) {
			s.Sent = append(s.Sent, Sent{MessageID: "m-lost", Label: "lost", Text: "lost", Turns: []string{"turn-lost"}})
			s.Prompts = append(s.Prompts, LedgerEntry{"lost", 1})
		},
		"a message whose turn only the broker names is lost": func(s *Session) {
			s.Sent = append(s.Sent, Sent{MessageID: "m-lost", Label: "lost", Text: "lost", Turns: []string{"turn-lost"}})
			s.HostTurns = append(s.HostTurns, HostTurn{ID: "turn-again", State: "finished", Started: true})
			s.Turns = append(s.Turns, BrokerTurn{ID: "turn-again", MessageID: "m-lost", State: "closed", FinishReason: "stop"})
		},
		"a turn of no message was interrupted": func(s *Session) {
			b := &builder{Session: s}
			finish := b.event("turn-lost", Finish, `"finishReason":"other","reason":"interrupted"`)
			s.Rows, s.Served = append(s.Rows, finish), append(s.Served, finish)
			s.Acknowledged, s.BrokerAt = s.Cursor, s.Cursor
			s.Turns = append(s.Turns, BrokerTurn{ID: "turn-lost", State: "closed", FinishReason: "other", Reason: "interrupted"})
		},
	} {
		o := sample()
		s := o.Sessions[0]
		s.DatabaseRestores = 1
		if damage(s); len(Run(o)) == 0 {
			t.Errorf("%s: excused", name)
		}
	}
}

// The host renumbered an event, the broker acknowledged it there, and the host's journal went back
// to the time before.
func TestARowStaysWhereItsEventWasAcknowledged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row, acknowledged Cursor
		restored          int // databases
		found             bool
	}{
		"where it was acknowledged":                            {Cursor{3, 1}, Cursor{3, 1}, 0, false},
		"where the journal has it":                             {Cursor{1, 1}, Cursor{3, 1}, 0, true},
		"where the journal has it, after a restored database":  {Cursor{1, 1}, Cursor{3, 1}, 1, false},
		"where it was acknowledged, after a restored database": {Cursor{3, 1}, Cursor{3, 1}, 1, false},
		"elsewhere":                            {Cursor{2, 1}, Cursor{3, 1}, 0, true},
		"elsewhere, after a restored database": {Cursor{2, 1}, Cursor{3, 1}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample().Sessions[0]
			s.JournalRestores, s.DatabaseRestores = 1, c.restored
			row, before := s.Rows[0], s.Rows[0]
			row.At, before.At = c.row, c.acknowledged
			s.Forgotten = []Event{before}
			checker := newChecker(s)
			checker.compare(row)
			if found := len(checker.found) > 0; found != c.found {
				t.Error(checker.found)
			}
		})
	}
}

// The host renumbered an event, the broker stored it there, and the host's journal went back before it had the broker's
// answer. Which positions the event had is known; any other is a violation.
func TestARowMayStandWhereAReplacedJournalHadItsEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row   Cursor
		found bool
	}{
		"where the journal has it":      {Cursor{1, 1}, false},
		"where the first had it":        {Cursor{2, 1}, false},
		"where the second had it":       {Cursor{3, 1}, false},
		"where no journal had it":       {Cursor{4, 1}, true},
		"where another event was in it": {Cursor{3, 2}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample().Sessions[0]
			s.JournalRestores = 2
			row, other := s.Rows[0], s.Rows[1]
			for epoch := int64(2); epoch <= 3; epoch++ {
				unsent, second := row, other
				unsent.At, second.At = Cursor{epoch, 1}, Cursor{epoch, 2}
				s.Unsent = append(s.Unsent, unsent, second)
			}
			row.At = c.row
			checker := newChecker(s)
			checker.compare(row)
			if found := len(checker.found) > 0; found != c.found {
				t.Error(checker.found)
			}
		})
	}
}
