package codex_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/codex"
	"bellhop/agenthost/provider/providertest"
)

// Lines of scripts. The thread is "th", the turn "t1".
const (
	initialize = `{"dir":"in","msg":{"id":1,"method":"initialize"}}
{"dir":"out","msg":{"id":1,"result":{}}}
{"dir":"in","msg":{"method":"initialized"}}
`
	threadStart = `{"dir":"in","msg":{"id":2,"method":"thread/start"}}
{"dir":"out","msg":{"id":2,"result":{"thread":{"id":"th"}}}}
`
	threadResume = `{"dir":"in","msg":{"id":2,"method":"thread/resume","params":{"threadId":"th","approvalPolicy":"untrusted"}}}
{"dir":"out","msg":{"id":2,"result":{"thread":{"id":"th"}}}}
`
	turnStart = `{"dir":"in","msg":{"id":3,"method":"turn/start","params":{"threadId":"th"}}}
{"dir":"out","msg":{"id":3,"result":{"turn":{"id":"t1","status":"inProgress"}}}}
`
	turnCompleted = `{"dir":"out","msg":{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t1","status":"completed"}}}}
`
	turnInterrupt = `{"dir":"in","msg":{"method":"turn/interrupt","params":{"threadId":"th","turnId":"t1"}}}
{"dir":"out","msg":{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"t1","status":"interrupted"}}}}
`
	begun = initialize + threadStart + turnStart
)

// started is an item of the turn that starts; completed is its end.
func started(item string) string   { return about("item/started", "th", "t1", item) }
func completed(item string) string { return about("item/completed", "th", "t1", item) }

func about(method, thread, turn, item string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"method":%q,"params":{"threadId":%q,"turnId":%q,"item":%s}}}`+"\n", method, thread, turn, item)
}

func delta(id, text string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"method":"item/agentMessage/delta","params":{"threadId":"th","turnId":"t1","itemId":%q,"delta":%q}}}`+"\n", id, text)
}

// asking is a request of the program, expecting the answer with a result.
func asking(id int, method, params string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"id":%d,"method":%q,"params":%s}}`+"\n", id, method, params)
}

func answered(id int, result string) string {
	return fmt.Sprintf(`{"dir":"in","msg":{"id":%d,"result":%s}}`+"\n", id, result)
}

const (
	command     = `{"type":"commandExecution","id":"c1","command":"touch x","cwd":"/repo","status":"inProgress"}`
	commandDone = `{"type":"commandExecution","id":"c1","command":"touch x","cwd":"/repo","status":"completed","aggregatedOutput":"ok","exitCode":0}`
	approval    = `{"threadId":"th","turnId":"t1","itemId":"c1","command":"touch x"}`
	approve     = "item/commandExecution/requestApproval"
)

// fixture is an agent whose program plays scripts, one for each start.
type fixture struct {
	t       *testing.T
	options codex.Options
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
