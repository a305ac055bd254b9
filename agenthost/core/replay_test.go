package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Any inputs in any order, written as JSON and read again, give the same rows, frames and
// effects.
func TestRandomInputsReplayFromTheirJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &site{T: rt, run: run{state: core.New("s1"), at: start}, finished: map[string]int{}}
		s.input(openedBy("b1", "t1"))
		s.input(prompted("t1", ""))
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			s.held.Text = rapid.SampledFrom([]string{"", "sk-l"}).Draw(rt, "held")
			if rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
				s.deliver(rapid.IntRange(0, 11).Draw(rt, "response"), rapid.IntRange(1, 4).Draw(rt, "events"))
			} else {
				in := s.reported(rt)
				if answered, ok := in.(core.Answered); ok { // as the session does
					answered.Raw = core.RawAnswer(&answered.Request)
					in = answered
				}
				s.input(in)
			}
		}
		live, replayed := core.New("s1"), core.New("s1")
		for i := range s.kept {
			read := reread(rt, s.kept[i])
			want, err1 := live.Apply(s.kept[i].Moment(), s.kept[i].Input)
			got, err2 := replayed.Apply(read.Moment(), read.Input)
			if err1 != nil || err2 != nil {
				rt.Fatalf("%s: %v, %v", core.Kind(read.Input), err1, err2)
			}
			if a, b := stepJSON(rt, got), stepJSON(rt, want); a != b {
				rt.Fatalf("%s\ngot  %s\nwant %s", core.Kind(read.Input), a, b)
			}
			live, replayed = want.State, got.State
		}
	})
}

func reread(rt *rapid.T, r core.Recorded) (out core.Recorded) {
	raw, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		rt.Fatalf("%s: %v", core.Kind(r.Input), err)
	}
	return out
}

// stepJSON is a step without the query of webhook addresses, which a recording leaves out.
func stepJSON(rt *rapid.T, x *core.Step) string {
	raw, err := protocol.Marshal(map[string]any{"rows": x.Rows, "frames": x.Frames, "effects": x.Effects})
	if err != nil {
		rt.Fatal(err)
	}
	return strings.ReplaceAll(string(raw), "?token=secret", "")
}

// The agent's answer is not recorded, because it is not masked; the replay takes it from
// the request.
func TestAReplayedAnswerReachesTheAgent(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.do(core.AgentAsked{
		TurnID: "t1", Kind: protocol.KindConfirm, Question: core.Question{ToolCallID: "c1", ToolName: "ls"},
	})
	yes := true
	request := protocol.AnswerRequest{Approved: &yes, Reason: "fine"}
	in := core.Answered{
		InteractionID: r.state.Questions[0].ID, Request: request, Raw: core.Answer{Approved: true, Reason: "fine"},
	}
	raw, err := json.Marshal(core.Recorded{Input: in})
	if err != nil {
		t.Fatal(err)
	}
	var read core.Recorded
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	if got := read.Input.(core.Answered); got.Raw != in.Raw {
		t.Errorf("got %+v, want %+v", got.Raw, in.Raw)
	}
}
