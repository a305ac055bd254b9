package agents

import (
	"bellhop/agenthost"
	"bellhop/agenthost/provider/claude"
	"bellhop/agenthost/setup"
)

const claudeVersion = "2.1.328"

var claudeCode = Agent{
	Kind: "claude", Title: "Claude Code", BuiltIn: true,
	Programs: []setup.Agent{{
		Name: "claude", Title: "Claude Code", Version: claudeVersion,
		Package: "@anthropic-ai/claude-code", Program: "claude",
		Artifacts: map[string]setup.Artifact{
			"linux-x64": claudeArtifact("linux-x64",
				"sha512-KuzL+dBHgDCFTHJxwW+xuBJdVKfBsesGx2BBcTOG9sYDGoAD7b1hUV8rsTS4xjoJsB2SmeGraGjBiFuhrYuC9w=="),
			"linux-x64-musl": claudeArtifact("linux-x64-musl",
				"sha512-JiYOp70eNGo+NQGwfPOyzupUf4rVjXd2cXpyF1elbp97mR22tagM7qlCQ/8jGrKSce82/ZKkyXQo39IsQjnNLQ=="),
			"linux-arm64": claudeArtifact("linux-arm64",
				"sha512-zeWsClzx/rli8q6RsngKisu5BnuZ41J7Htp0qgsdZomaJCINiksf+mewQ/gyaylKajBZCoE9Z8R+OkLMjIkJig=="),
			"linux-arm64-musl": claudeArtifact("linux-arm64-musl",
				"sha512-7WgJJKqF3+ZHug9afhVfiEouUME1Y4dApnwqXDK0N06ipIyTPmE7Mqi53FfmUZI7In651SI4ZN7A14xGoe3M2w=="),
			"darwin-x64": claudeArtifact("darwin-x64",
				"sha512-SuFIh/OGu/qCCAw9aGldbpcu1OZMozDjZVZGfM6T8Cek+40Lg2fOpB9NHKi71nPHOznjn01xLuZ2HuZboodn6A=="),
			"darwin-arm64": claudeArtifact("darwin-arm64",
				"sha512-BIKLsj2MTaXfWJBE+Wr5ismdpTD0Oju5VmSix8ybBpe4rthXnrrhfMI8iikRQ4Qln5rlcpJyKjVf6CgrZdQASw=="),
		},
	}},
	Model:     Model{Key: "ANTHROPIC_API_KEY", Address: "ANTHROPIC_BASE_URL"},
	Variables: anthropic,
	Gateways:  []string{"anthropic"},
	Settings:  []string{"version"},
	New: func(o Options) agenthost.Provider {
		return claude.New(claude.Options{Name: o.Name, Find: o.programPath, Env: o.Env, Records: o.Records})
	},
}

func claudeArtifact(platform, integrity string) setup.Artifact {
	return setup.Artifact{
		Package: "@anthropic-ai/claude-code-" + platform, Version: claudeVersion, Integrity: integrity, Path: "claude",
	}
}
