package acp_test

import (
	"context"
	"fmt"
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

// updated returns an update of the session.
func updated(update string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"method":"session/update","params":{"sessionId":"s","update":%s}}}`+"\n",
		update)
}

func chunk(text string) string {
	return updated(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, text))
}

// asking returns a permission request for the call c1, with these options.
func asking(id int, options string) string {
	return fmt.Sprintf(`{"dir":"out","msg":{"id":%d,"method":"session/request_permission","params":{"sessionId":"s","options":%s,`+
		`"toolCall":{"toolCallId":"c1","title":"Write x","kind":"edit","rawInput":{"path":"x"}}}}}`+"\n", id, options)
}

// answered is a line that expects an outcome.
func answered(id int, outcome string) string {
	return fmt.Sprintf(`{"dir":"in","msg":{"id":%d,"result":{"outcome":%s}}}`+"\n", id, outcome)
}

const (
	usual      = `[{"kind":"allow_always","name":"Always","optionId":"a"},{"kind":"allow_once","name":"Yes","optionId":"y"},{"kind":"reject_once","name":"No","optionId":"n"}]`
	completed  = `{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`
	notDecided = `{"outcome":"cancelled"}`
)

// fixture adds the options of the provider under test.
type fixture struct {
	*providertest.Fixture
	options acp.Options
}

func newFixture(t *testing.T, scripts ...string) *fixture {
	t.Helper()
	return fixtureOf(providertest.NewFixture(t, scripts...))
}

func fixtureOf(base *providertest.Fixture) *fixture {
	f := &fixture{Fixture: base, options: acp.Options{
		Command: func(context.Context) ([]string, error) { return []string{base.Program}, nil },
		Env:     base.Env,
		Grace:   providertest.Guard,
	}}
	f.Open = func(spec agenthost.AgentSpec) (agenthost.Agent, error) {
		return acp.New(f.options).Open(base.T.Context(), spec)
	}
	return f
}
