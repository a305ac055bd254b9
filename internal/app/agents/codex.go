package agents

import (
	"bellhop/agenthost"
	"bellhop/agenthost/provider/codex"
	"bellhop/agenthost/setup"
	"bellhop/policy"
)

const codexVersion = "0.169.0"

var codexAgent = Agent{
	Kind: "codex", Title: "Codex", BuiltIn: true,
	Programs: []setup.Agent{{
		Name: "codex", Title: "Codex", Version: codexVersion,
		Package: "@openai/codex", Program: "codex",
		Artifacts: map[string]setup.Artifact{ // the Linux builds are static
			"linux-x64":        codexArtifact("linux-x64", "x86_64-unknown-linux-musl", codexLinuxX64),
			"linux-x64-musl":   codexArtifact("linux-x64", "x86_64-unknown-linux-musl", codexLinuxX64),
			"linux-arm64":      codexArtifact("linux-arm64", "aarch64-unknown-linux-musl", codexLinuxARM64),
			"linux-arm64-musl": codexArtifact("linux-arm64", "aarch64-unknown-linux-musl", codexLinuxARM64),
			"darwin-x64": codexArtifact("darwin-x64", "x86_64-apple-darwin",
				"sha512-K1FKSsSLl9v3z5TeagBQXyQRDBIGB5Jncy5dxsRxwT3aaTqN3AI8VrCfoxBxKMOOU9O2QX1vg7WkBwNVth/s9A=="),
			"darwin-arm64": codexArtifact("darwin-arm64", "aarch64-apple-darwin",
				"sha512-5WsWFBbVP78D+6FvNo1MMVxLPZdmcoQlqVJFrF4qx/TmvneLnMQKtLyXkUo54XOTDfoYKpNouTJ/F7gTVA8FnQ=="),
		},
	}},
	Model:     Model{Key: "OPENAI_API_KEY", Address: "OPENAI_BASE_URL", Path: "/v1"},
	Variables: openAI,
	Gateways:  []string{"openai"},
	ToolNames: map[string]string{"permissions": policy.AgentMode},
	Settings:  []string{"version", "login", "sandbox"},
	Unasked:   "web searches and views of images are not asked about",
	New: func(o Options) agenthost.Provider {
		return codex.New(codex.Options{
			Name: o.Name, Find: o.programPath, Env: o.Env, Login: o.Entry.Login, Sandbox: o.Entry.Sandbox, Records: o.Records,
		})
	},
}

const (
	codexLinuxX64   = "sha512-o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww=="
	codexLinuxARM64 = "sha512-NZ/DaQUpcQmxmqee7Z9uC1rzw3GhSbooawcaTe1LN5Yk+WlinUKGdTXJgClRT/9ogQEEM9TWxYzvxPfj5G/xFg=="
)

// codexArtifact describes the build for one platform. All builds are versions of
// one package with the platform as suffix. The program needs the helper programs
// beside it, so the tree is unpacked as it is.
func codexArtifact(platform, target, integrity string) setup.Artifact {
	return setup.Artifact{
		Package: "@openai/codex", Version: codexVersion + "-" + platform, Integrity: integrity,
		Path: "vendor/" + target + "/bin/codex",
	}
}
