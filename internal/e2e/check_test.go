package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellhop/protocol"
)

// story is a small valid history: one turn with a text, a tool and another text, read by its
// starter across a reconnect and by a watcher with a gap.
func story() *history {
	s := &sessionHistory{
		ID:        "task",
		HostTurns: []hostTurn{{ID: "turn", State: "finished", Started: true}},
		BrokerTurns: []brokerTurn{
			{ID: "turn", MessageID: "m1", State: "closed", Finish: protocol.FinishStop},
		},
		Cursor: protocol.Cursor{Epoch: 1, Seq: 6},
	}
	s.Acknowledged, s.BrokerAt = s.Cursor, s.Cursor
	s.append(`{"type":"status","status":"busy"}`, "", 0)
	s.append(`{"type":"text","id":"a","text":"hello"}`, `{"type":"text-end","id":"a"`, 4)
	s.append(`{"type":"tool-call","toolCallId":"c","toolName":"ls","input":{"p":1}}`,
		`{"type":"tool-call","toolCallId":"c","toolName":"ls","input":{"p":1}`, 5)
	s.append(`{"type":"tool-result","toolCallId":"c","toolName":"ls","output":"f"}`,
		`{"type":"tool-result","toolCallId":"c","toolName":"ls","output":"f"`, 6)
	s.append(`{"type":"text","id":"b","text":"bye"}`, `{"type":"text-end","id":"b"`, 9)
	s.append(`{"type":"finish","finishReason":"stop"}`, `{"type":"finish","finishReason":"stop"`, 10)
	s.Rows, s.Served = slices.Clone(s.Journal), slices.Clone(s.Journal)
	s.Sent = []sent{{MessageID: "m1", TurnID: "turn", Text: "list"}}
	tool := `{"toolCallId":"c","toolName":"ls","input":{"p":1},"output":"f","isError":false,"state":"done"}`
	s.Messages = []protocol.Message{
		{ID: "m1", Seq: 1, TurnID: "turn", Role: protocol.RoleUser, Status: protocol.MessageSent, Message: "list"},
		{ID: "m2", Seq: 2, TurnID: "turn", Role: protocol.RoleAssistant, Message: "hello", EventID: "e2"},
		{
			ID: "m3", Seq: 3, TurnID: "turn", Role: protocol.RoleAssistant,
			Artifacts: []protocol.Artifact{{Type: protocol.ArtifactToolUse, Content: json.RawMessage(tool)}},
		},
		{ID: "m4", Seq: 4, TurnID: "turn", Role: protocol.RoleAssistant, Message: "bye", EventID: "e5"},
	}
	s.Readings = []reading{s.starter(), s.watcher()}
	s.Rev, s.Feed = 4, &feed{Revs: []int64{1, 2, 3, 4}, Messages: map[string]protocol.Message{}}
	for _, m := range s.Messages {
		s.Feed.Messages[m.ID] = m
	}
	return &history{Sessions: []*sessionHistory{s}}
}

// append journals an event and, unless part is "", its part: an object without its closing
// brace.
func (s *sessionHistory) append(body, part string, offset int) {
	n := int64(len(s.Journal) + 1)
	id := "e" + strconv.FormatInt(n, 10)
	var typed struct{ Type protocol.EventType }
	_ = json.Unmarshal([]byte(body), &typed)
	e := event{
		Cursor: protocol.Cursor{Epoch: 1, Seq: n}, ID: id, TurnID: "turn", Type: typed.Type,
		Body: fmt.Sprintf(`%s,"sessionId":"task","eventId":%q,"epoch":1,"seq":%d,"turnId":"turn","timestamp":1}`,
			body[:len(body)-1], id, n),
	}
	if part != "" {
		e.Part = fmt.Sprintf(`%s,"event":{"id":%q,"seq":%d,"turnId":"turn"}}`, part, id, n)
		e.Frame = fmt.Sprintf("1-%d", offset)
	}
	s.Journal = append(s.Journal, e)
}

func (s *sessionHistory) announced(n int) seenFrame {
	return seenFrame{s.Journal[n-1].Frame, s.Journal[n-1].Part}
}

func resumeFrame(v string) seenFrame {
	return seenFrame{"", `{"type":"data-resume","data":{"verdict":"` + v + `","from":"","to":"","openInteractions":[]}}`}
}

func (s *sessionHistory) starter() reading {
	return reading{Name: "starter", Turn: "turn", Ended: true, Texts: []string{"hello", "bye"}, Conns: []connection{
		{Method: "POST", Frames: []seenFrame{
			{"1-1", `{"type":"text-start","id":"a"}`},
			{"1-2", `{"type":"text-delta","id":"a","text":"hel"}`},
			{"1-3", `{"type":"text-delta","id":"a","text":"lo"}`},
			s.announced(2),
		}},
		{Method: "GET", After: "1-4", Frames: []seenFrame{
			resumeFrame("ok"),
			s.announced(3),
			s.announced(4),
			{"1-7", `{"type":"text-start","id":"b"}`},
			{"1-8", `{"type":"text-delta","id":"b","text":"bye"}`},
			s.announced(5),
			s.announced(6),
		}},
	}}
}

func (s *sessionHistory) watcher() reading {
	return reading{Name: "watcher", Ended: true, Texts: []string{"hello", "bye"}, Conns: []connection{
		{Method: "GET", After: "1-2", Frames: []seenFrame{
			resumeFrame("gap"),
			{"", `{"type":"text-start","id":"a"}`},
			{"", `{"type":"text-delta","id":"a","text":"hello"}`},
			s.announced(2),
			s.announced(3),
			s.announced(4),
			{"1-7", `{"type":"text-start","id":"b"}`},
			{"1-8", `{"type":"text-delta","id":"b","text":"bye"}`},
			s.announced(5),
			s.announced(6),
		}},
	}}
}

func TestTheCheckerAcceptsAValidHistory(t *testing.T) {
	t.Parallel()
	for _, v := range check(story()) {
		t.Error(v)
	}
}

func TestTheCheckerAcceptsAReplayThatContinuesWithTheNextTurn(t *testing.T) {
	t.Parallel()
	h := story()
	c := &h.Sessions[0].Readings[1].Conns[0]
	c.Frames = append(c.Frames, seenFrame{"1-11", `{"type":"text-start","id":"c"}`})
	for _, v := range check(h) {
		t.Error(v)
	}
}

func TestTheCheckerDetectsEveryViolation(t *testing.T) {
	t.Parallel()
	starter := func(s *sessionHistory, conn int) *connection { return &s.Readings[0].Conns[conn] }
	watcher := func(s *sessionHistory) *connection { return &s.Readings[1].Conns[0] }
	for _, c := range []struct {
		name   string
		rule   string
		damage func(s *sessionHistory)
	}{
		{"a lost event", ruleLost, func(s *sessionHistory) { s.Rows = slices.Delete(s.Rows, 2, 3) }},
		{"a lost last event", ruleLost, func(s *sessionHistory) { s.Rows = s.Rows[:5] }},
		{"a doubled event", ruleDoubled, func(s *sessionHistory) { s.Rows = append(s.Rows, s.Rows[1]) }},
		{"an event at two places", ruleDoubled, func(s *sessionHistory) {
			twin := s.Rows[1]
			twin.ID = "e9"
			s.Rows = append(s.Rows, twin)
		}},
		{"an event that no host sent", ruleInvented, func(s *sessionHistory) {
			s.Rows = append(s.Rows, event{ID: "e9", Cursor: protocol.Cursor{Epoch: 1, Seq: 9}})
		}},
		{
			"reordered rows", ruleOrder,
			func(s *sessionHistory) { s.Rows[1].Cursor, s.Rows[4].Cursor = s.Rows[4].Cursor, s.Rows[1].Cursor },
		},
		{"a changed body", ruleBody, func(s *sessionHistory) { s.Rows[3].Body = s.Rows[2].Body }},
		{"an event moved to another turn", ruleBody, func(s *sessionHistory) { s.Rows[3].TurnID = "other" }},
		{"a late event", ruleQuiet, func(s *sessionHistory) { s.Rows[3].Late = true }},
		{"a hole in the journal", ruleDense, func(s *sessionHistory) { s.Journal[3].Cursor.Seq = 9 }},
		{"an event journaled twice", ruleDense, func(s *sessionHistory) { s.Journal[3].ID = s.Journal[2].ID }},
		{"a host that serves less than its journal", ruleServed, func(s *sessionHistory) { s.Served = s.Served[:5] }},
		{"a host that serves another event", ruleServed, func(s *sessionHistory) { s.Served[2].Body = "{}" }},
		{"an unacknowledged event", ruleQuiet, func(s *sessionHistory) { s.Acknowledged.Seq-- }},
		{"a broker that is behind", ruleQuiet, func(s *sessionHistory) { s.BrokerAt.Seq-- }},
		{"a dead letter", ruleQuiet, func(s *sessionHistory) { s.DeadLetters = 1 }},
		{"a refused event", ruleQuiet, func(s *sessionHistory) { s.Refused = []string{"conflict"} }},
		{"an open question", ruleQuiet, func(s *sessionHistory) { s.OpenAsks = 1 }},
		{"an open turn at the host", ruleNoOpen, func(s *sessionHistory) { s.HostTurns[0].State = "open" }},
		{"an announced turn at the broker", ruleNoOpen, func(s *sessionHistory) { s.BrokerTurns[0].State = "announced" }},
		{"a task that names an open turn", ruleNoOpen, func(s *sessionHistory) { s.OpenTurn = "turn" }},
		{"a turn without a finish", ruleOneFinish, func(s *sessionHistory) { s.Journal[5].Type = protocol.EventStatus }},
		{"a turn with two", ruleOneFinish, func(s *sessionHistory) { s.Journal[1].Type = protocol.EventFinish }},
		{
			"a finish that the broker recorded differently", ruleOneFinish,
			func(s *sessionHistory) { s.BrokerTurns[0].Finish = protocol.FinishOther },
		},
		{
			"a text behind the finish", ruleOneFinish,
			func(s *sessionHistory) { s.Journal[4], s.Journal[5] = s.Journal[5], s.Journal[4] },
		},
		{"a lost message", ruleMessage, func(s *sessionHistory) { s.Messages = s.Messages[1:] }},
		{"a changed message", ruleMessage, func(s *sessionHistory) { s.Messages[0].Message = "lisp" }},
		{
			"a message that stays SENDING", ruleMessage,
			func(s *sessionHistory) { s.Messages[0].Status = protocol.MessageSending },
		},
		{
			"an ERROR on a message whose turn ran", ruleMessage,
			func(s *sessionHistory) { s.Messages[0].Status = protocol.MessageError },
		},
		{"a message that no user sent", ruleMessage, func(s *sessionHistory) { s.Sent = nil }},
		{"a changed text", ruleText, func(s *sessionHistory) { s.Messages[1].Message = "hello " }},
		{"a text without a message", ruleText, func(s *sessionHistory) { s.Messages = slices.Delete(s.Messages, 1, 2) }},
		{"a text with two", ruleDoubled, func(s *sessionHistory) { s.Messages = append(s.Messages, s.Messages[3]) }},
		{
			"messages in another order", ruleDisplay,
			func(s *sessionHistory) { s.Messages[1], s.Messages[3] = s.Messages[3], s.Messages[1] },
		},
		{"a tool without a row", ruleTool, func(s *sessionHistory) { s.Messages[2].Artifacts = nil }},
		{"a tool still running", ruleTool, func(s *sessionHistory) {
			s.Messages[2].Artifacts[0].Content = json.RawMessage(`{"toolCallId":"c","toolName":"ls","input":{"p":1},"state":"running"}`)
		}},
		{
			"a frame id with other bytes", ruleSameID,
			func(s *sessionHistory) { watcher(s).Frames[7].Data = `{"type":"text-delta","id":"b","text":"BYE"}` },
		},
		{
			"a frame unlike the journal's", ruleSameID,
			func(s *sessionHistory) { starter(s, 1).Frames[1].Data = `{"type":"tool-call"}` },
		},
		{"a frame sent twice", ruleRising, func(s *sessionHistory) {
			c := starter(s, 1)
			c.Frames = slices.Insert(c.Frames, 2, c.Frames[1])
		}},
		{"frames in another order", ruleRising, func(s *sessionHistory) {
			c := starter(s, 0)
			c.Frames[1], c.Frames[2] = c.Frames[2], c.Frames[1]
		}},
		{
			"a frame without an id in the middle of a live stream", ruleRising,
			func(s *sessionHistory) { starter(s, 1).Frames[4].ID = "" },
		},
		{"a lost frame", ruleHole, func(s *sessionHistory) {
			c := starter(s, 0)
			c.Frames = slices.Delete(c.Frames, 1, 2)
			watcher(s).Frames = slices.Insert(watcher(s).Frames, 1, seenFrame{
				"1-2", `{"type":"text-delta","id":"a","text":"hel"}`,
			})
		}},
		{"a resume that skips unread frames", ruleHole, func(s *sessionHistory) { starter(s, 1).After = "1-5" }},
		{
			"a resume without a verdict", ruleResumeResult,
			func(s *sessionHistory) { starter(s, 1).Frames = starter(s, 1).Frames[1:] },
		},
		{"a gap that is called ok", ruleHole, func(s *sessionHistory) {
			watcher(s).After, watcher(s).Frames = "1-1", append([]seenFrame{resumeFrame("ok")}, watcher(s).Frames[3:]...)
		}},
		{"two ends", ruleTerminal, func(s *sessionHistory) {
			c := starter(s, 1)
			c.Frames = append(c.Frames, seenFrame{"1-11", `{"type":"finish"}`})
		}},
		{"a part of the turn behind its end", ruleTerminal, func(s *sessionHistory) {
			c := watcher(s)
			c.Frames = append(c.Frames, seenFrame{"1-11", strings.Replace(s.Journal[3].Part, "e4", "e9", 1)})
		}},
		{"no end", ruleTerminal, func(s *sessionHistory) { starter(s, 1).Frames = starter(s, 1).Frames[:6] }},
		{
			"a replay without an event", ruleCompleteTurn,
			func(s *sessionHistory) { watcher(s).Frames = slices.Delete(watcher(s).Frames, 4, 5) },
		},
		{"the end of another turn", ruleCompleteTurn, func(s *sessionHistory) { s.Readings[0].Turn = "other" }},
		{
			"a replayed text unlike the stored one", ruleStreamText,
			func(s *sessionHistory) { watcher(s).Frames[2].Data = `{"type":"text-delta","id":"a","text":"hullo"}` },
		},
		{
			"a client that doubles a text", ruleStreamText,
			func(s *sessionHistory) { s.Readings[0].Texts = []string{"hello", "hello", "bye"} },
		},
		{"a feed that lacks a message", ruleFeed, func(s *sessionHistory) { delete(s.Feed.Messages, "m4") }},
		{"a feed with an older message", ruleFeed, func(s *sessionHistory) {
			m := s.Feed.Messages["m1"]
			m.Status = protocol.MessageSending
			s.Feed.Messages["m1"] = m
		}},
		{"a feed that repeats itself", ruleFeed, func(s *sessionHistory) { s.Feed.Revs = []int64{1, 2, 2, 3, 4} }},
		{"a feed that stops early", ruleFeed, func(s *sessionHistory) { s.Feed.Revs = []int64{1, 2, 3} }},
		{"a feed that restarts", ruleFeed, func(s *sessionHistory) { s.Feed.Resets = 1 }},
		{
			"a reader that gave up", ruleReader,
			func(s *sessionHistory) { s.Readings[0].Ended, s.Readings[0].Error = false, "no_turn" },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := story()
			c.damage(h.Sessions[0])
			found := check(h)
			if !slices.ContainsFunc(found, func(v violation) bool { return v.Rule == c.rule }) {
				t.Errorf("want a violation of %q, found %v", c.rule, found)
			}
		})
	}
}
