package agents

import (
	"slices"
)

// ModelAPI is the interface of a vendor's language models: the variables by which programs
// find it, and the names that they connect to.
type ModelAPI struct {
	Name    string
	Address string // variable with the base URL; "" = there is none
	URL     string // base URL without that variable
	Keys    []ModelKey
	Login   string   // variable of a login that stands in for a key; "" = there is none
	Names   []string // of the interface, and of the login to it
}

// KeyVariables are the variables of which one has to be set.
func (a ModelAPI) KeyVariables() (names []string) {
	for _, key := range a.Keys {
		names = append(names, key.Variable)
	}
	if a.Login != "" {
		names = append(names, a.Login)
	}
	return names
}

// ModelKey is a variable with a key, and the header in which the key is sent.
type ModelKey struct{ Variable, Header, Prefix string }

var modelAPIs = []ModelAPI{
	{
		Name: "anthropic", Address: "ANTHROPIC_BASE_URL", URL: "https://api.anthropic.com",
		Keys:  []ModelKey{{"ANTHROPIC_API_KEY", "X-Api-Key", ""}, {"ANTHROPIC_AUTH_TOKEN", "Authorization", "Bearer "}},
		Login: "CLAUDE_CODE_OAUTH_TOKEN",
		Names: []string{"api.anthropic.com", "console.anthropic.com", "platform.claude.com"},
	},
	{
		Name: "openai", Address: "OPENAI_BASE_URL", URL: "https://api.openai.com/v1",
		Keys:  []ModelKey{{"OPENAI_API_KEY", "Authorization", "Bearer "}},
		Names: []string{"api.openai.com", "auth.openai.com", "chatgpt.com"},
	},
	{
		Name: "google", Address: "GOOGLE_GEMINI_BASE_URL", URL: "https://generativelanguage.googleapis.com",
		Keys:  []ModelKey{{"GEMINI_API_KEY", "X-Goog-Api-Key", ""}, {"GOOGLE_API_KEY", "X-Goog-Api-Key", ""}},
		Names: []string{"generativelanguage.googleapis.com", "oauth2.googleapis.com", "cloudcode-pa.googleapis.com"},
	},
	{Name: "openrouter", Keys: []ModelKey{{Variable: "OPENROUTER_API_KEY"}}, Names: []string{"openrouter.ai"}},
}

// ModelAPIs returns the interfaces that programs of the kind can use.
func (a Agent) ModelAPIs() []ModelAPI {
	return slices.DeleteFunc(slices.Clone(modelAPIs), func(api ModelAPI) bool {
		return !slices.Contains(a.Variables, api.Keys[0].Variable)
	})
}

// AllModelAPIs returns the interfaces of all kinds.
func AllModelAPIs() []ModelAPI { return slices.Clone(modelAPIs) }

// TakesAddress reports whether programs of the kind always use the base URL of the
// interface's variable, so that their key need not be known to them.
func (a Agent) TakesAddress(api ModelAPI) bool { return slices.Contains(a.Gateways, api.Name) }
