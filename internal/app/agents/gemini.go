package agents

import (
	"bellhop/agenthost"
	"bellhop/agenthost/provider/acp"
	"bellhop/agenthost/setup"
	"bellhop/policy"
)

const geminiVersion = "0.61.0"

var gemini = Agent{
	Kind: "gemini", Title: "Gemini CLI", BuiltIn: true,
	Programs: []setup.Agent{{
		Name: "gemini", Title: "Gemini CLI", Version: geminiVersion,
		Package: "@google/gemini-cli", Program: "gemini", Node: 20,
		Artifacts: map[string]setup.Artifact{ // a bundle without dependencies, except optional ones
			setup.AnyPlatform: {
				Package: "@google/gemini-cli", Version: geminiVersion, Path: "bundle/gemini.js",
				Integrity: "sha512-dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==",
			},
		},
	}},
	Model:     Model{Key: "GEMINI_API_KEY", Address: "GOOGLE_GEMINI_BASE_URL"},
	Variables: google,
	Gateways:  []string{"google"},
	ToolNames: map[string]string{"save_memory": policy.FileWrite},
	Settings:  []string{"version"},
	New: func(o Options) agenthost.Provider {
		return acp.Gemini(acp.Options{Name: o.Name, Command: o.Command, Env: o.Env, Records: o.Records})
	},
}
