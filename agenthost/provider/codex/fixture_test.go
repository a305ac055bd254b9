package codex_test

import (
	"context"
	"fmt"
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

// started returns the start of an item of the turn; completed returns its end.
func started(item string) string   { return about("item/started", "th", "t1", item) }
func completed(item string) string { return about("item/completed", "th", "t1", item) }

func about(method, thread, turn, item string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"method":%q,"params":{"threadId":%q,"turnId":%q,"item":%s}}}`+"\n",
		method, thread, turn, item)
}

func delta(id, text string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"method":"item/agentMessage/delta","params":{"threadId":"th","turnId":"t1","itemId":%q,"delta":%q}}}`+"\n", id, text)
}

// asking returns a request of the program; answered returns the response that it must get.
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

// fixture adds the options of the provider under test.
type fixture struct {
	*providertest.Fixture
	options codex.Options
}

func newFixture(t *testing.T, scripts ...string) *fixture {
	t.Helper()
	return fixtureOf(providertest.NewFixture(t, scripts...))
}

func fixtureOf(base *providertest.Fixture) *fixture {
	f := &fixture{Fixture: base, options: codex.Options{
		Find:  func(context.Context) (string, error) { return base.Program, nil },
		Env:   base.Env,
		Grace: providertest.Guard,
	}}
	f.Open = func(spec agenthost.AgentSpec) (agenthost.Agent, error) {
		return codex.New(f.options).Open(base.T.Context(), spec)
	}
	return f
}
