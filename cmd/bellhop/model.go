package main

import (
	"cmp"
	"context"
	"log/slog"
	"strings"

	"bellhop/agent"
	agentapi "bellhop/agent/api"
	"bellhop/agent/mcpclient"
	"bellhop/agent/model"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/policy"
)

// modelFlags choose a model and its server. The variables have the names that the
// providers' own programs read.
type modelFlags struct {
	Model         string `default:"demo" help:"The model: 'demo' (scripted, no language model), anthropic/NAME, openai/NAME, openrouter/NAME or ollama/NAME."`
	BaseURL       string `placeholder:"URL" help:"URL of the server that serves the model, instead of its provider's."`
	MaxTokens     int    `placeholder:"N" help:"Maximum tokens of one response. Default: the provider's, 8192 for anthropic."`
	ContextWindow int    `placeholder:"N" help:"Maximum tokens of a conversation; older turns are left out. Default: 200000 for anthropic, 32000 for ollama, else 128000."`

	AnthropicAPIKey   seal.Secret `name:"anthropic-api-key-file" env:"ANTHROPIC_API_KEY" secret:"" placeholder:"FILE" help:"File with the key for anthropic/… models."`
	AnthropicBaseURL  string      `env:"ANTHROPIC_BASE_URL" placeholder:"URL" help:"Replaces https://api.anthropic.com."`
	OpenAIAPIKey      seal.Secret `name:"openai-api-key-file" env:"OPENAI_API_KEY" secret:"" placeholder:"FILE" help:"File with the key for openai/… models."`
	OpenAIBaseURL     string      `name:"openai-base-url" env:"OPENAI_BASE_URL" placeholder:"URL" help:"Replaces https://api.openai.com/v1; any server with the same API works."`
	OpenRouterAPIKey  seal.Secret `name:"openrouter-api-key-file" env:"OPENROUTER_API_KEY" secret:"" placeholder:"FILE" help:"File with the key for openrouter/… models."`
	OpenRouterBaseURL string      `name:"openrouter-base-url" env:"OPENROUTER_BASE_URL" placeholder:"URL" help:"Replaces https://openrouter.ai/api/v1."`
	OllamaBaseURL     string      `env:"OLLAMA_BASE_URL" placeholder:"URL" help:"Replaces http://127.0.0.1:11434/v1."`
}

// openModel returns the named model, or nil for the demo model.
func (f modelFlags) openModel(name string) (*model.Model, error) {
	if name == agent.ModelDemo {
		return nil, nil //nolint:nilnil // the demo model is part of the agent
	}
	provider, _, err := model.Find(name)
	if err != nil {
		return nil, err
	}
	opts := model.Options{MaxTokens: f.MaxTokens, Window: f.ContextWindow}
	switch provider.Name {
	case "anthropic":
		opts.Key, opts.BaseURL = f.AnthropicAPIKey.Reveal(), f.AnthropicBaseURL
	case "openai":
		opts.Key, opts.BaseURL = f.OpenAIAPIKey.Reveal(), f.OpenAIBaseURL
	case "openrouter":
		opts.Key, opts.BaseURL = f.OpenRouterAPIKey.Reveal(), f.OpenRouterBaseURL
	case "ollama":
		opts.BaseURL = f.OllamaBaseURL
	}
	if strings.HasPrefix(f.Model, provider.Name+"/") {
		opts.BaseURL = cmp.Or(f.BaseURL, opts.BaseURL)
	}
	return model.Open(name, opts)
}

// sessionSource prepares the model, tools and policy of each session.
type sessionSource struct {
	flags        modelFlags
	instructions string
	servers      mcpclient.Config
	policy       *policy.Live // nil = each tool decides whether it asks
	log          *slog.Logger
}

func (s *sessionSource) readMCP(raw []byte) (err error) {
	s.servers, err = mcpclient.Parse(raw)
	return err
}

func (s *sessionSource) openPolicy(file string) (err error) {
	if file != "" {
		s.policy, err = policy.Open(policy.LiveOptions{File: file, Engine: app.PolicyOptions(app.HostFile{}), Log: s.log})
	}
	return err
}

// run reloads the policy file when it changes, until ctx ends.
func (s *sessionSource) run(ctx context.Context) error {
	if s.policy == nil {
		return nil
	}
	return s.policy.Run(ctx)
}

// openSession implements agentapi.Config.Open.
func (s *sessionSource) openSession(ctx context.Context, o agentapi.Opening) (agentapi.Opened, error) {
	none := agentapi.Opened{}
	name := cmp.Or(o.Model, s.flags.Model)
	llm, err := s.flags.openModel(name)
	if err != nil {
		return none, err
	}
	opts := agent.Options{Model: name}
	if llm != nil {
		instructions := strings.TrimSpace(s.instructions + "\n\n" + o.Instructions)
		opts.Completer, opts.Window, opts.Instructions = llm, llm.Window, agent.Instructions(o.Dir, instructions)
	}
	if s.policy != nil {
		opts.Policy = s.policy
	}
	servers, err := mcpclient.Connect(ctx, s.servers, mcpclient.Options{Dir: o.Dir, Version: version, Log: s.log})
	if err != nil {
		return none, err
	}
	opts.Tools = servers.Tools()
	return agentapi.Opened{Options: opts, Close: servers.Close}, nil
}
