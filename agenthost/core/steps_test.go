package core_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/core"
	"bellhop/policy"
	"bellhop/protocol"
)

// states are the states that every input meets. Each is built again for every use.
var states = []struct {
	name  string
	build func(t *testing.T) *run
}{
	{"new", newRun},
	{"idle", func(t *testing.T) *run { return opened(t).then(finishedTurn("t1")...) }},
	{"announced", opened},
	{"basic", func(t *testing.T) *run {
		in := openedBy("", "")
		in.Request.Cursor = nil
		return newRun(t).then(in)
	}},
	{"keyed", func(t *testing.T) *run { return newRun(t).then(keyedBy("hash-1")) }},
	{"headless", func(t *testing.T) *run {
		return newRun(t).then(core.HeadlessOpened{Agent: "fake", Instructions: "be brief"})
	}},
	{"announced and stopped", func(t *testing.T) *run { return opened(t).then(stopped("")) }},
	{"attached", func(t *testing.T) *run { return opened(t).then(core.TerminalAttached{For: time.Minute}) }},
	{"turn open", started},
	{"text open", func(t *testing.T) *run { return started(t).then(core.AgentText{TurnID: "t1", Text: "hel"}) }},
	{"reasoning open", func(t *testing.T) *run {
		return started(t).then(core.AgentText{TurnID: "t1", Kind: core.ReasoningBlock, Text: "hm"})
	}},
	{"text held", func(t *testing.T) *run {
		r := started(t)
		r.held = core.Held{Text: "sk-"}
		return r
	}},
	{"call open", func(t *testing.T) *run { return started(t).then(called("c1")) }},
	{"confirm open", func(t *testing.T) *run { return started(t).then(called("c1"), confirm("c1", nil)) }},
	{"ask open", func(t *testing.T) *run {
		return started(t).then(core.AgentAsked{
			TurnID: "t1", Kind: protocol.KindAsk, Question: core.Question{Prompt: "which?"},
		})
	}},
	{"connection lost", func(t *testing.T) *run {
		return started(t).then(called("c1"), confirm("c1", nil), core.AgentChecking{TurnID: "t1", Lost: true})
	}},
	{"stopping", func(t *testing.T) *run { return started(t).then(core.Interrupted{Reason: protocol.ReasonAborted}) }},
	{"failed", func(t *testing.T) *run {
		return started(t).then(core.StepFailed{TurnID: "t1", Code: protocol.CodeStorageFull, Message: "full"})
	}},
	{"turn queued", func(t *testing.T) *run {
		return started(t).then(openedBy("b1", "t2"), prompted("t2", protocol.WhenBusyQueue))
	}},
	{"queued and idle", func(t *testing.T) *run {
		return started(t).then(openedBy("b1", "t2"), prompted("t2", protocol.WhenBusyQueue), core.AgentEnded{TurnID: "t1"})
	}},
	{"renewal due", func(t *testing.T) *run { return started(t).then(core.RenewalDue{}) }},
	{"retrying", func(t *testing.T) *run { return started(t).then(core.DeliveryFailed{What: "down"}) }},
	{"delivery stopped", func(t *testing.T) *run {
		r := opened(t).then(finishedTurn("t1")...)
		return r.then(core.DeliveryRefused{Sent: r.sent(1), Refusal: core.Refusal{Status: 410, Code: protocol.CodeGone}})
	}},
	{"deleted", func(t *testing.T) *run { return opened(t).then(core.Deleted{}) }},
}

// inputs are what every state gets.
func inputs(r *run) []core.Input {
	yes := true
	question := "none"
	if len(r.state.Questions) > 0 {
		question = r.state.Questions[0].ID
	}
	other := openedBy("b2", "")
	behind := openedBy("b1", "")
	ahead := openedBy("b1", "t9")
	ahead.Request.Cursor = &protocol.Cursor{Epoch: 3, Seq: 7}
	refused := func(status int, code protocol.Code, n int64) core.Input {
		return core.DeliveryRefused{Sent: r.sent(n), Refusal: core.Refusal{
			Foreign: code == "" && r.state.Record.BrokerID != "", Status: status, Code: code, Message: "no", Cursor: &protocol.Cursor{Epoch: 1}, Index: new(0),
		}}
	}
	brokerTime := r.at.Add(time.Hour)
	refusedRequest := core.DeliveryRefused{Sent: r.sent(2), Refusal: core.Refusal{
		Status: http.StatusBadRequest, Code: protocol.CodeInvalid, Message: "Session ID mismatch",
	}}
	return []core.Input{
		openedBy("b1", "t1"), other, behind, ahead,
		core.HeadlessOpened{Agent: "fake"},
		keyedBy("hash-1"), keyedBy("hash-2"), keyedBy(""),
		core.KeyReleased{},
		core.TokensRevoked{},
		core.WorkspaceUsed{Dir: "/w", Secret: "bhw_1"},
		core.Deleted{},
		core.Recovered{Loaded: core.Loaded{Session: core.SessionRecord{
			ID: "s1", BrokerID: "b1", NamedAnswers: true, Cursor: protocol.Cursor{Epoch: 1, Seq: 2}, Acked: protocol.Cursor{Epoch: 1},
			OffsetReserved: 4097, Status: protocol.StatusBusy, Outbox: core.OutboxOK,
		}, Turns: []core.TurnRecord{{SessionID: "s1", ID: "t1", State: core.TurnOpen, FirstOffset: 1}}, Pending: 2}},
		prompted("t1", ""), prompted("t2", protocol.WhenBusyInterrupt),
		core.Prompted{TurnID: "t8", New: true, Request: protocol.PromptRequest{Prompt: "go"}},
		core.Prompted{
			TurnID: "t8", New: true, Request: protocol.PromptRequest{Prompt: "go", WhenBusy: protocol.WhenBusyInterrupt},
		},
		core.Prompted{TurnID: "t8", New: true, Line: true, Request: protocol.PromptRequest{Prompt: "go"}},
		core.Prompted{TurnID: "t8", New: true, ReadOnly: true, Request: protocol.PromptRequest{Prompt: "go"}},
		core.Prompted{TurnID: "t8", New: true, HostStopping: true, Request: protocol.PromptRequest{Prompt: "go"}},
		core.Prompted{TurnID: "t8", New: true},
		core.QueueAdvanced{},
		core.QueueAdvanced{HostStopping: true},
		core.QueueDropped{},
		core.QueueDropped{Unwritten: true},
		core.AnnouncementExpired{TurnID: "t1", Expires: start.Add(tokenLifetime)},
		core.AnnouncementExpired{TurnID: "t1"},
		core.AgentStarted{TurnID: "t1", Agent: "fake"},
		core.AgentEnded{TurnID: "t1"},
		core.AgentEnded{TurnID: "t1", Outcome: core.Outcome{FinishReason: protocol.FinishError, Err: "broken"}},
		core.AgentEnded{TurnID: "t1", Others: core.Activity{Status: protocol.StatusBusy}},
		core.AgentEnded{TurnID: "t0"},
		core.Interrupted{Reason: protocol.ReasonAborted},
		core.Interrupted{Reason: protocol.ReasonHostRestarted},
		stopped(""), stopped("t1"), stopped("t2"),
		core.StepFailed{TurnID: "t1", Code: protocol.CodeStorageFull, Message: "full"},
		core.StepFailed{TurnID: "t1", Code: protocol.CodeStorageFull, Message: "full", Reason: protocol.ReasonAborted},
		core.AgentText{TurnID: "t1", Text: "lo"},
		core.AgentText{TurnID: "t1", Kind: core.ReasoningBlock, Text: "so"},
		core.AgentText{TurnID: "t0", Text: "late"},
		core.AgentTextEnded{TurnID: "t1"},
		core.AgentTextEnded{TurnID: "t1", Final: "hello"},
		core.AgentTextEnded{TurnID: "t1", Final: "other"},
		core.AgentReasoningEnded{TurnID: "t1"},
		called("c1"), called("c2"),
		core.AgentResulted{TurnID: "t1", Result: core.ToolResult{ID: "c1"}},
		core.AgentResulted{TurnID: "t1", Result: core.ToolResult{ID: "c9", IsError: true, Output: json.RawMessage(`"x"`)}},
		confirm("c1", nil), confirm("c1", &core.Ruling{Decision: policy.Decision{Action: policy.Allow, Rule: "r"}}),
		confirm("c1", &core.Ruling{Decision: policy.Decision{Action: policy.Deny, Rule: "r"}}),
		core.AgentAsked{TurnID: "t1", Kind: protocol.KindAsk, Question: core.Question{Prompt: "which?"}},
		core.AgentNoticed{TurnID: "t1", Level: "info", Message: "m"},
		core.AgentReminded{TurnID: "t1"},
		core.AgentNamed{TurnID: "t1", AgentSessionID: "n1"},
		core.AgentChecking{TurnID: "t1", Lost: true},
		core.AgentChecking{TurnID: "t1"},
		core.Answered{InteractionID: question, Request: protocol.AnswerRequest{Approved: &yes, Text: "red"}},
		core.Answered{
			InteractionID: question, Request: protocol.AnswerRequest{Approved: &yes, Remember: protocol.RememberSession},
		},
		core.QuestionExpired{InteractionID: question},
		core.QuestionCancelled{InteractionID: question},
		core.QuestionCancelled{InteractionID: question, Expired: true},
		core.DeliveryAccepted{Sent: r.sent(1), Cursor: &protocol.Cursor{Epoch: 1, Seq: 1}, Object: true},
		core.DeliveryAccepted{Sent: r.sent(1), Cursor: &protocol.Cursor{Epoch: 9, Seq: 9}, Object: true},
		core.DeliveryAccepted{Sent: r.sent(1), Object: true},
		core.DeliveryAccepted{Sent: r.sent(1)},
		core.DeliveryAccepted{Sent: r.unversioned()},
		refused(400, protocol.CodeInvalid, 1), refused(400, protocol.CodeInvalid, 2), refused(400, "", 1), refusedRequest,
		refused(401, protocol.CodeTokenExpired, 1),
		core.DeliveryRefused{
			Sent: r.sent(1), Refusal: core.Refusal{Status: 401, Code: protocol.CodeSignatureTime, Time: &brokerTime},
		},
		refused(401, protocol.CodeUnauthorized, 1), refused(409, protocol.CodeConflict, 1), refused(409, protocol.CodeGap, 1),
		refused(409, protocol.CodeDiverged, 1), refused(409, protocol.CodeFenced, 1), refused(410, protocol.CodeGone, 1),
		refused(410, "", 1), refused(413, protocol.CodeTooLarge, 1), refused(413, protocol.CodeTooLarge, 2),
		refused(429, protocol.CodeTooManyRequests, 1), refused(503, "", 1),
		refused(503, protocol.CodeTwoCopies, 1),
		core.DeliveryFailed{What: "down"},
		core.TokenRenewed{AddressVersion: r.state.Delivery.AddressVersion, URL: "http://broker/hook?token=2"},
		core.TokenRenewed{URL: "late"},
		core.RenewalRefused{Refusal: core.Refusal{Status: 410, Code: protocol.CodeGone}},
		core.RenewalRefused{Refusal: core.Refusal{Foreign: r.state.Record.BrokerID != "", Status: 404}},
		core.RenewalRefused{Refusal: core.Refusal{Status: 404, Code: protocol.CodeNotFound, Incarnation: "i2"}},
		refused(404, protocol.CodeNotFound, 1),
		core.TokenRenewed{URL: "http://broker/hook?token=2", Cursor: &protocol.Cursor{Epoch: 1, Seq: 1}, Incarnation: "i2"},
		core.IncarnationSeen{ID: "i2"},
		core.IncarnationSeen{ID: "i2", Force: true},
		core.RenewalRefused{},
		core.RenewalDue{},
		core.PositionSaved{},
		core.PendingCounted{Events: 5},
		core.PendingRead{Version: r.state.Delivery.Version, Events: []core.EventRecord{r.sent(1).Last}},
		core.PendingRead{Version: 99},
		core.HookReported{Dir: "/w", Others: core.Activity{Status: protocol.StatusIdle}},
		core.HookReported{Others: core.Activity{Status: protocol.StatusBusy}},
		core.TerminalAttached{},
		core.TerminalAttached{Opening: true},
		core.TerminalAttached{For: time.Minute},
		core.TerminalAttached{Closed: true},
		core.TerminalWorked{TurnID: "tui-1", Prompt: "go", Items: terminalItems()},
		core.TerminalWorked{TurnID: "tui-1", Outcome: core.Outcome{FinishReason: protocol.FinishError, Err: "no"}},
		core.Prompted{TurnID: "t8", New: true, Request: protocol.PromptRequest{Prompt: "go", Force: true}},
		core.Idled{},
	}
}

const table = "testdata/steps.txt"

// Every input in every state. The table is written again by
// BELLHOP_UPDATE_STEPS=1 go test ./agenthost/core -run EveryInput; a change in it
// is a change of behaviour.
func TestEveryInputInEveryState(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	tried := map[string]bool{}
	for _, state := range states {
		fmt.Fprintf(&got, "# %s\n", state.name)
		results, order := map[string][]string{}, []string{}
		for i, in := range inputs(state.build(t)) {
			tried[core.Kind(in)] = true
			r := state.build(t)
			result := r.result(inputs(r)[i])
			if results[result] == nil {
				order = append(order, result)
			}
			results[result] = append(results[result], brief(in))
			if unchanged := state.build(t); !reflect.DeepEqual(r.before, unchanged.state) {
				t.Errorf("%s: %s changed the state it was applied to", state.name, brief(in))
			}
		}
		for _, result := range order {
			fmt.Fprintf(&got, "%s\n\t%s\n", cmp.Or(result, "nothing"), strings.Join(results[result], "\n\t"))
		}
	}
	for _, kind := range core.Kinds() {
		if !tried[kind] {
			t.Errorf("no state gets %s", kind)
		}
	}
	if os.Getenv("BELLHOP_UPDATE_STEPS") != "" {
		if err := os.WriteFile(table, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	wantLines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(wantLines) || line != wantLines[i] {
			t.Fatalf("line %d:\n got  %s\n want %s", i+1, line, wantLines[min(i, len(wantLines)-1)])
		}
	}
}

// result applies an input twice to the same state and describes what it changes.
func (r *run) result(in core.Input) string {
	r.before = r.state
	at := core.Moment{Time: r.at.Add(1e9), ID: "00000000-0000-7000-8000-00000ffff000", Held: r.held}
	x, err := r.before.Apply(at, in)
	if again, err2 := r.before.Apply(at, in); !reflect.DeepEqual(again, x) || !reflect.DeepEqual(err2, err) {
		r.Errorf("%s: two results", core.Kind(in))
	}
	if err != nil {
		return fmt.Sprintf("%s: %v", protocol.CodeOf(err), err)
	}
	out := []string{shown(x)}
	was, is := describe(&r.before), describe(&x.State)
	for i := range is {
		if is[i] != was[i] {
			out = append(out, is[i])
		}
	}
	if x.Rows.Session == nil && !x.Rows.DropSession {
		out = append(out, "unwritten")
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), " · ")
}

// describe is a state in short.
func describe(s *core.State) []string {
	turn, stop := s.OpenTurn(), ""
	if s.Turn != nil {
		stop = s.Turn.Stop
	}
	announced := ""
	if s.Announced != nil {
		announced = strings.TrimSpace(s.Announced.ID + " " + s.Announced.Reason)
	}
	rec := &s.Record
	return []string{
		"turn=" + turn, "stop=" + stop, "announced=" + announced, fmt.Sprint("queue=", s.QueuedTurns()),
		fmt.Sprint("questions=", len(s.Questions)), fmt.Sprintf("status=%s %s", rec.Status, rec.Reason),
		fmt.Sprintf("outbox=%s %s", rec.Outbox, rec.OutboxError),
		fmt.Sprintf("cursor=%d/%d", rec.Cursor.Epoch, rec.Cursor.Seq),
		fmt.Sprintf("acked=%d/%d", rec.Acked.Epoch, rec.Acked.Seq), fmt.Sprint("pending=", s.Pending),
		fmt.Sprint("limit=", s.Delivery.Limit), fmt.Sprint("version=", s.Delivery.Version),
		fmt.Sprint("job=", s.NextJob()), fmt.Sprint("remembered=", rec.Remembered), "agentSessionID=" + rec.AgentSessionID,
		"dir=" + rec.Dir, fmt.Sprint("deleted=", s.Deleted),
	}
}

// brief is an input in short: its members that are not zero.
func brief(in core.Input) string {
	raw, err := json.Marshal(core.Recorded{Input: in})
	if err != nil {
		return err.Error()
	}
	var form struct{ Input map[string]any }
	_ = json.Unmarshal(raw, &form)
	text := ""
	if pruned, ok := prune(form.Input).(map[string]any); ok {
		raw, _ = json.Marshal(pruned)
		text = " " + string(raw)
	}
	if len(text) > 150 {
		text = protocol.CutText(text, 150) + "…"
	}
	return core.Kind(in) + text
}

// prune leaves out zero members; nil: nothing is left.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member = prune(member); member == nil || member == "0001-01-01T00:00:00Z" {
				delete(v, name)
			} else {
				v[name] = member
			}
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

// A model is of one agent: another agent begins with its own default.
func TestAnotherAgentDoesNotGetTheModelOfTheFormer(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	open := func(agent, model string) string {
		in := openedBy("b1", "")
		in.Request.Agent, in.Request.Model = agent, model
		r.do(in)
		return r.state.Record.Model
	}
	r.want("chosen", open("claude", "small"), "small")
	r.want("unnamed", open("claude", ""), "small")
	r.want("of another agent", open("codex", ""), "")
	r.want("named with its agent", open("claude", "large"), "large")
}
