package model

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/agent"
	"bellhop/protocol"
)

// Provider is a service that offers models.
type Provider struct {
	Name    string // the part of a model's name before the slash
	BaseURL string // the default of Options.BaseURL
	Key     string // the variable with the key, for hints; "" = no key needed
	Window  int    // the default of Options.Window

	dialect func(o *Options, model string) dialect
}

const (
	anthropicTokens = 8192
	anthropicWindow = 200_000
	openAIWindow    = 128_000
	ollamaWindow    = 32_000
)

// Providers lists the providers that Open knows. Other OpenAI-compatible servers are "openai"
// with their own base URL.
func Providers() []Provider {
	return []Provider{
		{"anthropic", "https://api.anthropic.com/", "ANTHROPIC_API_KEY", anthropicWindow, newAnthropic},
		{"openai", "https://api.openai.com/v1/", "OPENAI_API_KEY", openAIWindow, newOpenAI},
		{"openrouter", "https://openrouter.ai/api/v1/", "OPENROUTER_API_KEY", openAIWindow, newOpenAI},
		{"ollama", "http://127.0.0.1:11434/v1/", "", ollamaWindow, newOpenAI},
	}
}

// Options configure a model. All fields are optional, except Key for the providers' own
// addresses.
type Options struct {
	BaseURL   string // replaces the provider's
	Key       string
	MaxTokens int           // limit of one response
	Window    int           // tokens a conversation may take; the provider's if zero
	Silence   time.Duration // how long the model may send nothing; ten minutes if zero
	Client    *http.Client  // must not follow redirects, which would forward the key
	Now       func() time.Time
}

// Model is a completer with its name and window.
type Model struct {
	agent.Completer
	Name   string // provider/name
	Window int    // tokens for the conversation: the provider's window minus the response, at least half of it
}

// Find splits a model name provider/name and returns the provider and the name. Its error is
// CodeInvalid.
func Find(model string) (Provider, string, error) {
	prefix, name, _ := strings.Cut(model, "/")
	known := []string{agent.ModelDemo}
	for _, p := range Providers() {
		if p.Name == prefix && strings.TrimSpace(name) != "" {
			return p, name, nil
		}
		known = append(known, p.Name+"/NAME")
	}
	return Provider{}, "", &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("Unknown model %.100q", model),
		Hint: "Known are " + strings.Join(known, ", "),
	}
}

// Open returns the model named provider/name. It makes no request: a wrong key or name fails
// the first completion.
func Open(model string, o Options) (*Model, error) {
	provider, name, err := Find(model)
	if err != nil {
		return nil, err
	}
	if err := o.check(provider); err != nil {
		return nil, err
	}
	o.Window = cmp.Or(o.Window, provider.Window)
	o.Silence = cmp.Or(o.Silence, 10*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	c := &completer{dialect: provider.dialect(&o, name), provider: provider, model: name, opts: o, pause: pause}
	return &Model{Completer: c, Name: model, Window: max(o.Window-cmp.Or(o.MaxTokens, anthropicTokens), o.Window/2)}, nil
}

// check sets the default address and requires the key. A server with a base URL of its own may
// need none.
func (o *Options) check(p Provider) error {
	own := o.BaseURL != ""
	if !own {
		o.BaseURL = p.BaseURL
	}
	address, err := url.Parse(o.BaseURL)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" ||
		address.Host == "" || address.User != nil || address.RawQuery != "" {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The base URL of the model's provider is not an http or https URL",
			Hint: "Give something like http://127.0.0.1:8000/v1, without user and query",
		}
	}
	if o.Key == "" && p.Key != "" && !own {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: fmt.Sprintf("Models of %s need an API key", p.Name),
			Hint: fmt.Sprintf("Set %s or %s_FILE, or take the model %s", p.Key, p.Key, agent.ModelDemo),
		}
	}
	return nil
}
