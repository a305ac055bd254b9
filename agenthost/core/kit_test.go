package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// start is the time of the first input.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// run applies inputs one after the other, as the shell does.
type run struct {
	*testing.T
	state  core.State
	at     time.Time
	count  int
	last   *core.Step
	kept   []core.Recorded
	held   core.Held
	before core.State
}

func newRun(t *testing.T) *run { return &run{T: t, state: core.New("s1"), at: start} }

// try applies an input and returns its error.
func (r *run) try(in core.Input) error {
	r.count++
	r.at = r.at.Add(time.Second)
	at := core.Moment{Time: r.at, ID: fmt.Sprintf("00000000-0000-7000-8000-0000%04x0000", r.count), Held: r.held}
	step, err := r.state.Apply(at, in)
	if err != nil {
		return err
	}
	r.kept = append(r.kept, core.Recorded{At: at.Time, ID: at.ID, Held: at.Held, Input: in})
	r.state, r.last = step.State, step
	return nil
}

// do applies inputs that must succeed, and returns the last step.
func (r *run) do(inputs ...core.Input) *core.Step {
	r.Helper()
	for _, in := range inputs {
		if err := r.try(in); err != nil {
			r.Fatalf("%s: %v", core.Kind(in), err)
		}
	}
	return r.last
}

// opened returns a session of a named broker with an announced turn t1.
func opened(t *testing.T) *run {
	t.Helper()
	r := newRun(t)
	r.do(openedBy("b1", "t1"))
	return r
}

// started returns a session with the open turn t1.
func started(t *testing.T) *run {
	t.Helper()
	r := opened(t)
	r.do(core.Prompted{TurnID: "t1", Request: protocol.PromptRequest{Prompt: "go"}, Journaled: "go"},
		core.AgentStarted{TurnID: "t1", Agent: "fake"})
	return r
}

func openedBy(broker, turn string) core.Opened {
	in := core.Opened{
		Request: protocol.OpenSessionRequest{
			SessionID: "s1", BrokerID: broker, NamedAnswers: broker != "", WebhookURL: "http://broker/hook?token=secret", Cursor: &protocol.Cursor{},
		},
		DefaultAgent:   "fake",
		Token:          core.TokenRecord{Hash: []byte{1}, SessionID: "s1", TurnID: turn, ExpiresAt: start.Add(tokenLifetime)},
		WebhookExpires: start.Add(10 * time.Minute),
	}
	if turn != "" {
		in.Request.Turn = &protocol.AnnouncedTurn{ID: turn}
	}
	return in
}

// stopped is the interrupt of a user, of one turn or with "" of whichever it is.
func stopped(turn string) core.Interrupted {
	return core.Interrupted{Reason: protocol.ReasonAborted, TurnID: turn, Announced: true}
}

// keyedBy binds a key to the session.
func keyedBy(hash string) core.Opened {
	in := openedBy("b1", "")
	in.Request.BindKey, in.KeyHash = true, hash
	return in
}

// shown describes a step: its events, the types of its frames, its effects.
func shown(x *core.Step) string {
	var out []string
	for _, e := range x.Rows.Events {
		out = append(out, fmt.Sprintf("%d/%d %s", e.Cursor.Epoch, e.Cursor.Seq, e.Type))
	}
	for _, f := range x.Frames {
		kind, _, _ := strings.Cut(strings.TrimPrefix(string(f.Part), `{"type":"`), `"`)
		out = append(out, "#"+kind)
	}
	for _, e := range x.Effects {
		out = append(out, strings.TrimPrefix(fmt.Sprintf("%T", e), "core."))
	}
	return strings.Join(out, " ")
}

func (r *run) want(what, got, want string) {
	r.Helper()
	if got != want {
		r.Errorf("%s:\n got  %s\n want %s", what, got, want)
	}
}

const tokenLifetime = time.Hour

// then is do, and returns r for the next call.
func (r *run) then(inputs ...core.Input) *run {
	r.Helper()
	r.do(inputs...)
	return r
}

func prompted(turn, whenBusy string) core.Prompted {
	return core.Prompted{TurnID: turn, Journaled: "go", Request: protocol.PromptRequest{Prompt: "go", WhenBusy: whenBusy}}
}

func called(id string) core.AgentCalled {
	return core.AgentCalled{TurnID: "t1", Call: core.ToolCall{ID: id, Name: "rm", Input: json.RawMessage(`{"path":"a"}`)}}
}

func confirm(call string, ruling *core.Ruling) core.AgentAsked {
	return core.AgentAsked{
		TurnID: "t1", Kind: protocol.KindConfirm, Timeout: time.Minute, Ruling: ruling,
		Question: core.Question{Prompt: "rm?", ToolCallID: call, ToolName: "rm", Level: "WARN", Shape: "WARN rm"},
	}
}

// finishedTurn returns the inputs of a turn with one text.
func finishedTurn(turn string) []core.Input {
	return []core.Input{
		prompted(turn, ""), core.AgentText{TurnID: turn, Text: "hello"}, core.AgentEnded{TurnID: turn},
	}
}

// sent returns a request with the first n events of epoch 1, of the current version.
func (r *run) sent(n int64) core.Sent {
	sent := core.Sent{Version: r.state.Delivery.Version, Named: r.state.Record.BrokerID != "", Basic: r.state.Record.Basic}
	for seq := range n {
		sent.Cursors = append(sent.Cursors, protocol.Cursor{Epoch: 1, Seq: seq + 1})
	}
	sent.Last = core.EventRecord{
		SessionID: "s1", Cursor: sent.Cursors[n-1], EventID: "e1", TurnID: "t1", Type: protocol.EventText,
		Body: json.RawMessage(`{"type":"text","text":"hi"}`),
	}
	return sent
}

// unversioned returns a request of an earlier version: it was made before the position moved.
func (r *run) unversioned() core.Sent {
	sent := r.sent(1)
	sent.Version--
	return sent
}
