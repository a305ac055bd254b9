package agents

import (
	"bellhop/agenthost"
	"bellhop/agenthost/provider/jsonl"
)

// KindJSONL is the kind of agents that speak the headless interface on stdio.
const KindJSONL = "jsonl"

// Demo is the id of the agent that is part of the binary. Its kind is jsonl and it
// gets no variable of the host's environment.
const Demo = "demo"

var jsonlAgent = Agent{
	Kind: KindJSONL, Title: "Any agent that speaks the headless interface",
	Settings: []string{"arguments", "modelFlag", "restore"},
	New: func(o Options) agenthost.Provider {
		return jsonl.New(jsonl.Options{
			Name: o.Name, Command: o.Entry.Command, Env: o.Env,
			ModelFlag: o.Entry.ModelFlag, Restore: o.Entry.Restore, Records: o.Records,
		})
	},
}
