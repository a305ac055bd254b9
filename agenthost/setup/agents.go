package setup

const (
	claudeVersion   = "2.1.328"
	codexVersion    = "0.169.0"
	geminiVersion   = "0.61.0"
	opencodeVersion = "1.18.33"
)

// manifest pins what is tested. The checksums are the registry's
// `npm view PACKAGE@VERSION dist.integrity`.
var manifest = []Agent{
	{
		Name: "claude", Title: "Claude Code", Version: claudeVersion,
		Package: "@anthropic-ai/claude-code", Program: "claude",
		Artifacts: map[string]Artifact{
			"linux-x64":        claude("linux-x64", "sha512-KuzL+dBHgDCFTHJxwW+xuBJdVKfBsesGx2BBcTOG9sYDGoAD7b1hUV8rsTS4xjoJsB2SmeGraGjBiFuhrYuC9w=="),
			"linux-x64-musl":   claude("linux-x64-musl", "sha512-JiYOp70eNGo+NQGwfPOyzupUf4rVjXd2cXpyF1elbp97mR22tagM7qlCQ/8jGrKSce82/ZKkyXQo39IsQjnNLQ=="),
			"linux-arm64":      claude("linux-arm64", "sha512-zeWsClzx/rli8q6RsngKisu5BnuZ41J7Htp0qgsdZomaJCINiksf+mewQ/gyaylKajBZCoE9Z8R+OkLMjIkJig=="),
			"linux-arm64-musl": claude("linux-arm64-musl", "sha512-7WgJJKqF3+ZHug9afhVfiEouUME1Y4dApnwqXDK0N06ipIyTPmE7Mqi53FfmUZI7In651SI4ZN7A14xGoe3M2w=="),
			"darwin-x64":       claude("darwin-x64", "sha512-SuFIh/OGu/qCCAw9aGldbpcu1OZMozDjZVZGfM6T8Cek+40Lg2fOpB9NHKi71nPHOznjn01xLuZ2HuZboodn6A=="),
			"darwin-arm64":     claude("darwin-arm64", "sha512-BIKLsj2MTaXfWJBE+Wr5ismdpTD0Oju5VmSix8ybBpe4rthXnrrhfMI8iikRQ4Qln5rlcpJyKjVf6CgrZdQASw=="),
		},
	},
	{
		Name: "claude-agent-acp", Title: "Claude Code over ACP", Version: "0.49.0",
		Package: "@agentclientprotocol/claude-agent-acp", Node: 20,
		Locked: "claude-agent-acp", Main: "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
	},
	{
		Name: "codex", Title: "Codex", Version: codexVersion,
		Package: "@openai/codex", Program: "codex",
		Artifacts: map[string]Artifact{ // the Linux builds are static
			"linux-x64":        codex("linux-x64", "x86_64-unknown-linux-musl", codexLinuxX64),
			"linux-x64-musl":   codex("linux-x64", "x86_64-unknown-linux-musl", codexLinuxX64),
			"linux-arm64":      codex("linux-arm64", "aarch64-unknown-linux-musl", codexLinuxARM64),
			"linux-arm64-musl": codex("linux-arm64", "aarch64-unknown-linux-musl", codexLinuxARM64),
			"darwin-x64":       codex("darwin-x64", "x86_64-apple-darwin", "sha512-K1FKSsSLl9v3z5TeagBQXyQRDBIGB5Jncy5dxsRxwT3aaTqN3AI8VrCfoxBxKMOOU9O2QX1vg7WkBwNVth/s9A=="),
			"darwin-arm64":     codex("darwin-arm64", "aarch64-apple-darwin", "sha512-5WsWFBbVP78D+6FvNo1MMVxLPZdmcoQlqVJFrF4qx/TmvneLnMQKtLyXkUo54XOTDfoYKpNouTJ/F7gTVA8FnQ=="),
		},
	},
	{
		Name: "gemini", Title: "Gemini CLI", Version: geminiVersion,
		Package: "@google/gemini-cli", Program: "gemini", Node: 20,
		Artifacts: map[string]Artifact{ // a bundle: its optional dependencies are not needed
			AnyPlatform: {
				Package: "@google/gemini-cli", Version: geminiVersion, Path: "bundle/gemini.js",
				Integrity: "sha512-dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==",
			},
		},
	},
	{
		Name: "opencode", Title: "OpenCode", Version: opencodeVersion,
		Package: "opencode-ai", Program: "opencode", Baseline: true,
		Artifacts: map[string]Artifact{
			"linux-x64":          opencode("linux-x64", "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw=="),
			"linux-x64-baseline": opencode("linux-x64-baseline", "sha512-1KQGBiiDDeL/VHHbHkOvvFo8Jr97WT5+C1tear+p7IcDTnXgVHXqIjU4O4jM4mHQzykTP2i884FCnW5LDa+zCA=="),
		},
	},
}

const (
	codexLinuxX64   = "sha512-o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww=="
	codexLinuxARM64 = "sha512-NZ/DaQUpcQmxmqee7Z9uC1rzw3GhSbooawcaTe1LN5Yk+WlinUKGdTXJgClRT/9ogQEEM9TWxYzvxPfj5G/xFg=="
)

func claude(platform, integrity string) Artifact {
	return Artifact{Package: "@anthropic-ai/claude-code-" + platform, Version: claudeVersion, Integrity: integrity, Path: "claude"}
}

// codex has one package; the version's suffix tells the platforms apart. Its
// program finds its helpers beside itself, so the tree stays as it is.
func codex(platform, target, integrity string) Artifact {
	return Artifact{
		Package: "@openai/codex", Version: codexVersion + "-" + platform, Integrity: integrity,
		Path: "vendor/" + target + "/bin/codex",
	}
}

func opencode(platform, integrity string) Artifact {
	return Artifact{Package: "opencode-" + platform, Version: opencodeVersion, Integrity: integrity, Path: "bin/opencode"}
}
