package agents

import (
	"slices"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
	"bellhop/agenthost/setup"
)

// KindACP is the kind of agents that speak the Agent Client Protocol. A command
// line can name one as "acp:COMMAND".
const KindACP = "acp"

var acpAgent = Agent{
	Kind: KindACP, Title: "Any agent that speaks ACP",
	Programs: []setup.Agent{{
		Name: "claude-agent-acp", Title: "Claude Code over ACP", Version: "0.49.0",
		Package: "@agentclientprotocol/claude-agent-acp", Node: 20,
		Locked: "claude-agent-acp", Main: "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
	}},
	Model:     Model{Key: "ANTHROPIC_API_KEY", Address: "ANTHROPIC_BASE_URL"},
	Variables: slices.Concat(anthropic, openAI, google, openRouter),
	Settings:  []string{"arguments", "mode"},
	Unasked:   "asks only by itself: the sandbox and its network level bind it, a policy only where it asks",
	New: func(o Options) agenthost.Provider {
		return acp.New(acp.Options{
			Name: o.Name, Command: o.Command, Env: o.Env, Mode: o.Entry.Mode, Records: o.Records,
		})
	},
}
