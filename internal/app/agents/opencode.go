package agents

import (
	"slices"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/opencode"
	"bellhop/agenthost/setup"
	"bellhop/policy"
)

const openCodeVersion = "1.18.33"

var openCode = Agent{
	Kind: "opencode", Title: "OpenCode", BuiltIn: true,
	Programs: []setup.Agent{{
		Name: "opencode", Title: "OpenCode", Version: openCodeVersion,
		Package: "opencode-ai", Program: "opencode", Baseline: true,
		Artifacts: map[string]setup.Artifact{
			"linux-x64": openCodeArtifact("linux-x64",
				"sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw=="),
			"linux-x64-baseline": openCodeArtifact("linux-x64-baseline",
				"sha512-1KQGBiiDDeL/VHHbHkOvvFo8Jr97WT5+C1tear+p7IcDTnXgVHXqIjU4O4jM4mHQzykTP2i884FCnW5LDa+zCA=="),
		},
	}},
	Model:     Model{Key: "OPENAI_API_KEY", Address: "OPENAI_BASE_URL", Path: "/v1"},
	Variables: slices.Concat(anthropic, openAI, google, openRouter),
	Gateways:  []string{"anthropic", "openai"},
	ToolNames: map[string]string{
		"external_directory": policy.FileRead, "doom_loop": policy.AgentMode, "lsp": policy.FileRead,
	},
	Settings: []string{"version", "config"},
	New: func(o Options) agenthost.Provider {
		return opencode.New(opencode.Options{
			Name: o.Name, Find: o.programPath, Env: o.Env, Config: o.Entry.Config, Records: o.Records, Ports: o.portsFile(),
		})
	},
}

func openCodeArtifact(platform, integrity string) setup.Artifact {
	return setup.Artifact{
		Package: "opencode-" + platform, Version: openCodeVersion, Integrity: integrity, Path: "bin/opencode",
	}
}
