package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
	"bellhop/agenthost/provider/providertest"
)

// Lines of scripts. The session is "s".
const (
	initialize = `{"dir":"in","msg":{"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{},"terminal":null}}}}
{"dir":"out","msg":{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true},"promptCapabilities":{"image":true}}}}}
`
	sessionNew = `{"dir":"in","msg":{"id":2,"method":"session/new","params":{"mcpServers":[]}}}
{"dir":"out","msg":{"id":2,"result":{"sessionId":"s"}}}
`
	sessionLoad = `{"dir":"in","msg":{"id":2,"method":"session/load","params":{"sessionId":"s","mcpServers":[]}}}
{"dir":"out","msg":{"id":2,"result":{}}}
`
	prompted = `{"dir":"in","msg":{"id":3,"method":"session/prompt","params":{"sessionId":"s"}}}
`
	ended = `{"dir":"out","msg":{"id":3,"result":{"stopReason":"end_turn"}}}
`
	cancelled = `{"dir":"in","msg":{"method":"session/cancel","params":{"sessionId":"s"}}}
{"dir":"out","msg":{"id":3,"result":{"stopReason":"cancelled"}}}
`
	begun = initialize + sessionNew + prompted
)

// saying is an update of the session.
func saying(update string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"method":"session/update","params":{"sessionId":"s","update":%s}}}`+"\n", update)
}

func chunk(text string) string {
	return saying(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, text))
}

// asking is a permission request for the call c1, with these options.
func asking(id int, options string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"id":%d,"method":"session/request_permission","params":{"sessionId":"s","options":%s,`+
		`"toolCall":{"toolCallId":"c1","title":"Write x","kind":"edit","rawInput":{"path":"x"}}}}}`+"\n", id, options)
}

// answered expects an outcome.
func answered(id int, outcome string) string {
	return fmt.Sprintf(`{"dir":"in","msg":{"id":%d,"result":{"outcome":%s}}}`+"\n", id, outcome)
}

const (
	usual     = `[{"kind":"allow_always","name":"Always","optionId":"a"},{"kind":"allow_once","name":"Yes","optionId":"y"},{"kind":"reject_once","name":"No","optionId":"n"}]`
	completed = `{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`
	withdrawn = `{"outcome":"cancelled"}`
)

// fixture is an agent whose program plays scripts, one for each start.
type fixture struct {
	t       *testing.T
	options acp.Options
	spec    agenthost.AgentSpec
	agent   agenthost.Agent
}

func newFixture(t *testing.T, scripts ...string) *fixture {
	t.Helper()
	dir := t.TempDir()
	for i, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i+1)), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &fixture{t: t}
	f.options, f.spec = scripted(t, dir)
	return f
}

// begin starts a turn; its end is awaited with the returned function.
func (f *fixture) begin(out *providertest.Recorder, prompt agenthost.Prompt) (end func() (agenthost.Outcome, error)) {
	f.t.Helper()
	if f.agent == nil {
		f.agent = open(f.t, f.options, f.spec)
	}
	var outcome agenthost.Outcome
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		outcome, err = f.agent.Run(f.t.Context(), prompt, out)
		out.Finish()
	}()
	return func() (agenthost.Outcome, error) {
		<-done
		return outcome, err
	}
}

// run plays a whole turn that begins.
func (f *fixture) run(out *providertest.Recorder, prompt string) agenthost.Outcome {
	f.t.Helper()
	outcome, err := f.begin(out, agenthost.Prompt{TurnID: "turn-1", Text: prompt})()
	if err != nil {
		f.t.Fatal(err)
	}
	if broken := out.Broken(true); len(broken) > 0 {
		f.t.Errorf("the contract is broken: %q", broken)
	}
	return outcome
}

func (f *fixture) await(out *providertest.Recorder, kind string) {
	f.t.Helper()
	if err := out.WaitFor(f.t.Context(), kind, 1); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) want(got agenthost.Outcome, want agenthost.Outcome) {
	f.t.Helper()
	if got.FinishReason != want.FinishReason || got.Reason != want.Reason || !strings.Contains(got.Err, want.Err) {
		f.t.Errorf("got the outcome %+v, want %+v", got, want)
	}
}

func always(answer agenthost.Answer) func(context.Context, string, agenthost.Question) (agenthost.Answer, error) {
	return func(context.Context, string, agenthost.Question) (agenthost.Answer, error) { return answer, nil }
}
