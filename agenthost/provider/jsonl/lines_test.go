package jsonl_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

const done = `{"type":"state","state":"waiting_for_input","reason":"done"}`

// recite is a program that answers an input with the given lines. At a line "<" it
// waits for a line from the provider, which it writes to $HOME/replies.
func recite(lines ...string) string {
	script := strings.Builder{}
	script.WriteString("read -r input\n")
	for _, line := range lines {
		if line == "<" {
			script.WriteString("read -r reply; printf '%s\\n' \"$reply\" >>\"$HOME/replies\"\n")
			continue
		}
		script.WriteString("printf '%s\\n' '" + line + "'\n")
	}
	return script.String() + "cat >/dev/null"
}

func TestLinesBecomeOutput(t *testing.T) {
	t.Parallel()
	stop := agenthost.Outcome{FinishReason: protocol.FinishStop}
	for name, c := range map[string]struct {
		lines   []string
		shown   []string
		outcome agenthost.Outcome
	}{
		"the message of a block replaces its chunks": {
			[]string{`{"type":"chunk","content":"helo"}`, `{"type":"message","content":"hello","format":"markdown"}`, done},
			[]string{"text  helo", "end hello"},
			stop,
		},
		"a message without chunks is a block": {
			[]string{`{"type":"message","content":"hello"}`, done}, []string{"end hello"}, stop,
		},
		"the last reported usage is the turn's": {
			[]string{
				`{"type":"message","content":"a","metadata":{"model":"m","usage":{"inputTokens":1}}}`,
				`{"type":"message","content":"b","metadata":{"usage":{"inputTokens":3,"outputTokens":2}}}`,
				`{"type":"message","content":"c","metadata":{"usage":7}}`, done,
			},
			[]string{"end a", "end b", "end c"},
			agenthost.Outcome{FinishReason: protocol.FinishStop, Usage: json.RawMessage(`{"inputTokens":3,"outputTokens":2}`)},
		},
		"an empty chunk opens no block": {
			[]string{`{"type":"chunk","content":""}`, `{"type":"chunk"}`, done}, []string{}, stop,
		},
		"a call with its result": {
			[]string{
				`{"type":"tool_start","id":"a","name":"ls","arguments":{"p":1}}`, `{"type":"state","state":"executing_tool"}`,
				`{"type":"tool_message","id":"a","name":"ls","content":"x\ny"}`, done,
			},
			[]string{`call a ls {"p":1}`, `result a ls "x\ny" error=false denied=false`},
			stop,
		},
		"a failed call": {
			[]string{
				`{"type":"tool_start","id":"a","name":"ls"}`, `{"type":"tool_message","id":"a","content":"no","is_error":true}`,
				done,
			},
			[]string{`call a ls {}`, `result a ls "no" error=true denied=false`},
			stop,
		},
		"repeated and missing ids are replaced by unique ones": {
			[]string{
				`{"type":"tool_start","id":"a","name":"ls","arguments":null}`, `{"type":"tool_message","id":"a","content":"1"}`,
				`{"type":"tool_start","id":"a","name":"ls"}`, `{"type":"tool_message","id":"a","content":"2"}`,
				`{"type":"tool_start","name":"ls"}`, `{"type":"tool_message","content":"3"}`, done,
			},
			[]string{
				`call a ls {}`, `result a ls "1" error=false denied=false`, `call a~2 ls {}`,
				`result a~2 ls "2" error=false denied=false`, `call call~2 ls {}`,
				`result call~2 ls "3" error=false denied=false`,
			},
			stop,
		},
		"a call without a result gets one": {
			[]string{`{"type":"tool_start","id":"a","name":"ls"}`, done},
			[]string{`call a ls {}`, `result a ls "the agent gave no result" error=true denied=false`},
			stop,
		},
		"a result without a call is skipped": {
			[]string{`{"type":"tool_message","id":"a","content":"x"}`, done},
			[]string{"notice warning The agent sent a tool result without its call"},
			stop,
		},
		"a status is a notice": {
			[]string{`{"type":"status","level":"success","message":"installed"}`, `{"type":"status","message":"plain"}`, done},
			[]string{"notice success installed", "notice info plain"},
			stop,
		},
		"an error has the text of the last error status": {
			[]string{
				`{"type":"status","level":"error","message":"out of credit"}`,
				`{"type":"state","state":"waiting_for_input","reason":"error"}`,
			},
			[]string{"notice error out of credit"},
			agenthost.Outcome{FinishReason: protocol.FinishError, Err: "out of credit"},
		},
		"an error without a text": {
			[]string{`{"type":"state","state":"waiting_for_input","reason":"error"}`},
			[]string{},
			agenthost.Outcome{FinishReason: protocol.FinishError, Err: "The agent reports an error"},
		},
		"interrupted by the agent itself": {
			[]string{`{"type":"state","state":"waiting_for_input","reason":"interrupted"}`},
			[]string{},
			agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted},
		},
		"invalid lines are skipped and reported, and the stream continues": {
			[]string{
				`{"type":"chunk","content":"a"}`, "Loading model...", "[1]", "", `{"type":"chunk","session_id":"s2","content":"b"}`,
				`{"type":"dance"}`, `{"content":"c"}`, `{"type":"chunk","session_id":"s1","content":"d"}`, done,
			},
			[]string{
				"text  a", "notice warning The agent sent a line that is no message: Loading model...",
				"notice warning The agent sent a line that is no message: [1]",
				"notice warning The agent sent a message of another session", "text  d",
				"notice warning The agent sent 2 further unusable lines",
			},
			stop,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := &providertest.Recorder{}
			outcome := run(t, open(t, recite(c.lines...), agenthost.AgentSpec{}), out)
			if !reflect.DeepEqual(outcome, c.outcome) {
				t.Errorf("got outcome %+v, want %+v", outcome, c.outcome)
			}
			if got := shown(out); !slices.Equal(got, c.shown) {
				t.Errorf("got %q, want %q", got, c.shown)
			}
		})
	}
}

// What an agent sends with a text passes through unchanged; members of other types are left out.
func TestAMessageKeepsItsFormatMetadataAndTimestamp(t *testing.T) {
	t.Parallel()
	out := &providertest.Recorder{}
	run(t, open(t, recite(
		`{"type":"message","content":"a","timestamp":1700000000123,"format":"text","metadata":{"latency_ms":7,"source_documents":[{"title":"t"}]}}`,
		`{"type":"message","content":"b","timestamp":"now","metadata":[1]}`, done,
	), agenthost.AgentSpec{}), out)
	var got []agenthost.TextAbout
	for _, e := range out.Entries() {
		if e.Kind == providertest.KindEndText && e.Text != "" {
			got = append(got, e.About)
		}
	}
	want := []agenthost.TextAbout{{
		Format: "text", Timestamp: json.RawMessage("1700000000123"),
		Metadata: json.RawMessage(`{"latency_ms":7,"source_documents":[{"title":"t"}]}`),
	}, {}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestQuestionsAreAnsweredByRequestID(t *testing.T) {
	t.Parallel()
	start := `{"type":"tool_start","id":"a","name":"rm","arguments":{"path":"x"}}`
	result := `{"type":"tool_message","id":"a","content":"not done","is_error":true}`
	confirm := `{"type":"confirm","request_id":"r1","prompt":"Remove?","tool_name":"rm","args":{ "path":"x" },"security_warning":{"level":"CRITICAL","message":"It is gone then."}}`
	ask := `{"type":"ask","request_id":"r2","prompt":"Colour?","default":"teal"}`
	asked := `confirm "Remove?" a rm {"path":"x"} CRITICAL  It is gone then.`
	for name, c := range map[string]struct {
		lines   []string
		answer  agenthost.Answer
		shown   []string
		replies string
	}{
		"approved": {
			[]string{start, confirm, "<", `{"type":"tool_message","id":"a","content":"done"}`, done},
			agenthost.Answer{Approved: true},
			[]string{`call a rm {"path":"x"}`, asked, `result a rm "done" error=false denied=false`},
			`{"type":"confirmation","session_id":"s1","request_id":"r1","value":true}`,
		},
		"denied, with the reason": {
			[]string{start, confirm, "<", result, done},
			agenthost.Answer{Reason: "too dangerous"},
			[]string{`call a rm {"path":"x"}`, asked, `result a rm "not done" error=false denied=true`},
			`{"type":"confirmation","session_id":"s1","request_id":"r1","reason":"too dangerous","value":false}`,
		},
		"expired is denied": {
			[]string{start, confirm, "<", result, done},
			agenthost.Answer{Expired: true},
			[]string{`call a rm {"path":"x"}`, asked, `result a rm "not done" error=false denied=true`},
			`{"type":"confirmation","session_id":"s1","request_id":"r1","reason":"expired","value":false}`,
		},
		"a confirm of another tool belongs to no call": {
			[]string{start, `{"type":"confirm","request_id":"r1","prompt":"Copy?","tool_name":"cp"}`, "<", result, done},
			agenthost.Answer{},
			[]string{`call a rm {"path":"x"}`, `confirm "Copy?"  cp   `, `result a rm "not done" error=true denied=false`},
			`{"type":"confirmation","session_id":"s1","request_id":"r1","value":false}`,
		},
		"an answer": {
			[]string{ask, "<", done},
			agenthost.Answer{Text: "red"},
			[]string{`ask "Colour?"     teal`},
			`{"type":"answer","session_id":"s1","request_id":"r2","text":"red"}`,
		},
		"no answer in time: the default": {
			[]string{ask, "<", done},
			agenthost.Answer{Expired: true},
			[]string{`ask "Colour?"     teal`},
			`{"type":"answer","session_id":"s1","request_id":"r2","text":"teal"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "replies")
			out := &providertest.Recorder{Decide: func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
				return c.answer, nil
			}}
			a := open(t, strings.ReplaceAll(recite(c.lines...), "$HOME/replies", home), agenthost.AgentSpec{})
			run(t, a, out)
			if got := shown(out); !slices.Equal(got, c.shown) {
				t.Errorf("got %q, want %q", got, c.shown)
			}
			if got, err := os.ReadFile(home); string(got) != c.replies+"\n" || err != nil {
				t.Errorf("the agent got %s, %v", got, err)
			}
		})
	}
}

func TestAQuestionNeedsItsOwnRequestID(t *testing.T) {
	t.Parallel()
	out := &providertest.Recorder{}
	ask := `{"type":"ask","request_id":"r","prompt":"Colour?"}`
	run(t, open(t, recite(`{"type":"ask","prompt":"?"}`, ask, ask, done), agenthost.AgentSpec{}), out)
	notice := "notice warning The agent sent a question without a request id of its own"
	got := shown(out)
	slices.Sort(got)
	if want := []string{`ask "Colour?"     `, notice, notice}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheToolsOfAHelloLineAreReported(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reported [][]string
	run(t, open(t, recite(
		`{"type":"hello","version":"1","tools":["read_file","shell"]}`,
		`{"type":"hello","session_id":"another","tools":["no"]}`, done,
	), agenthost.AgentSpec{ReportTools: func(names []string) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, names)
	}}), &providertest.Recorder{})
	mu.Lock()
	defer mu.Unlock()
	if want := [][]string{{"read_file", "shell"}}; !reflect.DeepEqual(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}
