package core_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// site is a session with a journal: it does what the shell does with a step.
type site struct {
	*rapid.T
	run
	events   []core.EventRecord // in the order of their cursors
	offset   int64              // of the last frame
	running  string             // the turn that StartAgent started
	finished map[string]int     // finish events of turns
}

func (s *site) input(in core.Input) {
	if s.try(in) != nil {
		return
	}
	x := s.last
	for _, dropped := range x.Rows.DropEvents {
		s.events = slices.DeleteFunc(s.events, func(e core.EventRecord) bool { return e.Cursor == dropped })
	}
	s.events = append(s.events, x.Rows.Events...)
	slices.SortStableFunc(s.events, func(a, b core.EventRecord) int {
		if a.Cursor.Less(b.Cursor) {
			return -1
		}
		return 1
	})
	for _, e := range x.Rows.Events {
		if e.Type == protocol.EventFinish && len(x.Rows.DropEvents) == 0 {
			s.finished[e.TurnID]++
		}
	}
	for _, f := range x.Frames {
		if f.ID.Offset <= s.offset {
			s.Fatalf("%T: frame %v after offset %d", in, f.ID, s.offset)
		}
		s.offset = f.ID.Offset
	}
	for _, e := range x.Effects {
		s.effect(e)
	}
}

func (s *site) effect(e core.Effect) {
	switch e := e.(type) {
	case core.CountPending:
		s.input(core.PendingCounted{Events: int64(len(s.pending()))})
	case core.ReadPending:
		s.input(core.PendingRead{Version: e.Version, Events: s.pending()})
	case core.Interrupt:
		s.input(core.Interrupted{Reason: e.Reason})
	case core.StartAgent:
		if s.running != "" {
			s.Fatalf("%s starts while %s runs", e.TurnID, s.running)
		}
		s.running = e.TurnID
	case core.EndTurn:
		if s.running != e.TurnID || len(s.state.Questions) > 0 {
			s.Fatalf("%s ends, %s runs, %d questions", e.TurnID, s.running, len(s.state.Questions))
		}
		s.running = ""
	}
}

func (s *site) pending() []core.EventRecord {
	return slices.DeleteFunc(slices.Clone(s.events), func(e core.EventRecord) bool {
		return !s.state.Record.Acked.Less(e.Cursor)
	})
}

// request is what delivery would send.
func (s *site) request(n int) (core.Sent, bool) {
	pending := s.pending()
	if s.state.NextJob() != core.JobSend || len(pending) == 0 {
		return core.Sent{}, false
	}
	sent := core.Sent{Version: s.state.Delivery.Version, Named: true}
	for _, e := range pending[:min(len(pending), s.state.Delivery.Limit, n)] {
		if e.Cursor.Epoch == pending[0].Cursor.Epoch {
			sent.Cursors, sent.Last = append(sent.Cursors, e.Cursor), e
		}
	}
	return sent, true
}

// deliver makes one request, with a random response.
func (s *site) deliver(kind int, n int) {
	sent, ok := s.request(n)
	if !ok {
		return
	}
	refuse := func(status int, code protocol.Code) core.Input {
		first := sent.Cursors[0]
		return core.DeliveryRefused{Sent: sent, Refusal: core.Refusal{
			Foreign: code == "", Status: status, Code: code, Cursor: &protocol.Cursor{Epoch: first.Epoch, Seq: first.Seq - 1}, Index: new(n - 1),
		}}
	}
	s.input([]core.Input{
		core.DeliveryAccepted{Sent: sent, Cursor: &sent.Cursors[len(sent.Cursors)-1], Object: true},
		core.DeliveryAccepted{Sent: sent, Cursor: &protocol.Cursor{Epoch: 99}, Object: true},
		core.DeliveryAccepted{Sent: sent, Object: true},
		refuse(400, protocol.CodeInvalid), refuse(409, protocol.CodeDiverged), refuse(409, protocol.CodeGap),
		refuse(409, protocol.CodeFenced), refuse(413, protocol.CodeTooLarge), refuse(401, protocol.CodeTokenExpired),
		refuse(410, protocol.CodeGone), refuse(503, ""),
		core.DeliveryFailed{What: "down"},
	}[kind])
}

func (s *site) check() {
	st := &s.state
	if want := int64(len(s.pending())); st.Pending != want {
		s.Fatalf("pending %d, the journal has %d", st.Pending, want)
	}
	if last := st.Record.Cursor; len(s.events) > 0 &&
		(s.events[len(s.events)-1].Cursor != last && last.Seq != 0 || last.Less(st.Record.Acked)) {
		s.Fatalf("cursor %v, acked %v, last event %v", last, st.Record.Acked, s.events[len(s.events)-1].Cursor)
	}
	for i := 1; i < len(s.events); i++ {
		a, b := s.events[i-1].Cursor, s.events[i].Cursor
		if !a.Less(b) || a.Epoch == b.Epoch && b.Seq != a.Seq+1 {
			s.Fatalf("event %v follows %v", b, a)
		}
	}
	for turn, n := range s.finished {
		if n != 1 {
			s.Fatalf("%s has %d finish events", turn, n)
		}
	}
}

// Any inputs in any order keep the journal without holes, the count of
// unacknowledged events right, and one finish for every turn.
func TestRandomInputsKeepTheJournalConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &site{T: rt, run: run{state: core.New("s1"), at: start}, finished: map[string]int{}}
		s.input(openedBy("b1", "t1"))
		turns := 1
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0:
				s.deliver(rapid.IntRange(0, 11).Draw(rt, "response"), rapid.IntRange(1, 4).Draw(rt, "events"))
			case 1:
				turns++
				turn := fmt.Sprint("t", turns)
				in := openedBy("b1", turn)
				in.Request.Cursor = nil
				s.input(in)
				s.input(prompted(turn,
					rapid.SampledFrom([]string{"", protocol.WhenBusyQueue, protocol.WhenBusyInterrupt}).Draw(rt, "whenBusy")))
			default:
				s.input(s.reported(rt))
			}
			s.check()
		}
	})
}

// reported is a random input about the open turn.
func (s *site) reported(rt *rapid.T) core.Input {
	turn, question := s.state.OpenTurn(), ""
	if len(s.state.Questions) > 0 {
		question = s.state.Questions[0].ID
	}
	text := rapid.SampledFrom([]string{"", "a", "hello"}).Draw(rt, "text")
	call := rapid.SampledFrom([]string{"c1", "c2"}).Draw(rt, "call")
	return rapid.SampledFrom([]core.Input{
		core.AgentText{TurnID: turn, Text: text},
		core.AgentText{TurnID: turn, Text: text, Kind: core.ReasoningBlock},
		core.AgentTextEnded{TurnID: turn, Final: text},
		core.AgentReasoningEnded{TurnID: turn},
		core.AgentCalled{TurnID: turn, Call: core.ToolCall{ID: call, Name: "rm"}},
		core.AgentResulted{TurnID: turn, Result: core.ToolResult{ID: call}},
		core.AgentAsked{TurnID: turn, Kind: protocol.KindConfirm, Question: core.Question{ToolCallID: call, ToolName: "rm"}},
		core.AgentAsked{TurnID: turn, Kind: protocol.KindAsk, Question: core.Question{Prompt: "which?"}},
		core.AgentChecking{TurnID: turn, Lost: text == ""},
		core.AgentNoticed{TurnID: turn, Message: text},
		core.Answered{InteractionID: question, Request: protocol.AnswerRequest{Text: text}},
		core.QuestionExpired{InteractionID: question},
		core.QuestionCancelled{InteractionID: question},
		core.Interrupted{Reason: protocol.ReasonAborted},
		stopped(""),
		core.AgentEnded{TurnID: turn},
		core.StepFailed{TurnID: turn, Code: protocol.CodeStorageFull, Message: "full"},
		core.QueueAdvanced{},
		core.QueueDropped{},
		core.RenewalDue{},
		core.PositionSaved{},
		core.Idled{},
		core.TerminalAttached{},
		core.TerminalAttached{For: 60e9},
		core.TerminalWorked{TurnID: fmt.Sprint("tui-", s.run.count), Prompt: text, Items: terminalItems()},
		core.HookReported{Others: core.Activity{Status: protocol.StatusBusy}},
		core.IncarnationSeen{ID: "i" + text, Force: text == ""},
		core.TokenRenewed{
			AddressVersion: s.state.Delivery.AddressVersion, Cursor: &protocol.Cursor{Epoch: 1, Seq: 1},
			Incarnation: "i" + text,
		},
		core.RenewalRefused{Refusal: core.Refusal{Status: 404, Code: protocol.CodeNotFound, Incarnation: "i" + text}},
	}).Draw(rt, "input")
}
