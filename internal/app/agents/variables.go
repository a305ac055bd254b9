package agents

// The environment variables with keys and URLs of each provider of language models.
var (
	anthropic  = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"}
	openAI     = []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"}
	google     = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"}
	openRouter = []string{"OPENROUTER_API_KEY"}
)
