package main

import (
	"fmt"
	"os"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
)

type hostCommand struct {
	hostAgentsFlag `embed:""`

	Listen         string      `env:"BELLHOP_HOST_LISTEN" default:"127.0.0.1:7701" placeholder:"ADDR" help:"Address to listen on (${default})."`
	LocalListen    string      `env:"BELLHOP_HOST_LOCAL_LISTEN" default:"127.0.0.1:0" placeholder:"ADDR" help:"Loopback address for the programs in workspaces: hooks and tools (${default}, a free port that stays)."`
	PublicURL      string      `env:"BELLHOP_HOST_PUBLIC_URL" placeholder:"URL" help:"What browsers use to stream. Default: http://<listen>."`
	Password       seal.Secret `env:"BELLHOP_HOST_PASSWORD" secret:"" placeholder:"PASSWORD" help:"What brokers sign in with; the same as in 'bellhop hosts add'."`
	Data           string      `env:"BELLHOP_HOST_DATA" default:"./bellhop-host" placeholder:"DIR" help:"Journal, workspaces and agents' state (${default})."`
	Config         string      `env:"BELLHOP_HOST_CONFIG" placeholder:"FILE" help:"YAML: agents, projects, policy. Without it the agent 'demo' is offered."`
	AllowedOrigins []string    `env:"BELLHOP_HOST_ALLOWED_ORIGINS" placeholder:"ORIGIN" help:"Pages that may stream from here, exact, comma-separated."`
}

// Help is shown by --help.
func (hostCommand) Help() string {
	return `The agent host runs agents next to the code, streams their work to browsers and posts final events to the
broker. It keeps a journal in its data directory: nothing is lost when it dies, or when the broker is away.

The agents opencode, claude, codex and gemini are there once 'bellhop agents install' fetched their programs; they get the
keys of their language models from this process' environment (ANTHROPIC_API_KEY …). The configuration file names others,
which speak the headless interface (JSON lines on stdio) or ACP, and projects:

  agents:
    claude: {model: claude-sonnet-4-5}
    mine:
      command: [/usr/local/bin/my-agent, --stdio]
      env: {MY_AGENT_MODE: careful}
  projects:
    shop: /srv/shop

Rules decide which tool calls need a person (bellhop policy --help); the built-in ones are used without:

  policy: /etc/bellhop/policy.yaml

  BELLHOP_HOST_PASSWORD=… bellhop host --data /var/lib/bellhop`
}

// Run serves until the context ends.
func (c hostCommand) Run(env *environment) error {
	config, err := app.ReadHostFile(c.Config)
	if err != nil {
		return fmt.Errorf("BELLHOP_HOST_CONFIG: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	agentEnv, err := agentEnvironment(os.LookupEnv, os.ReadFile)
	if err != nil {
		return err
	}
	host, err := app.OpenHost(app.HostConfig{
		Listen: c.Listen, LocalListen: c.LocalListen, PublicURL: c.PublicURL, Password: c.Password, Data: c.Data, File: config,
		AllowedOrigins: c.AllowedOrigins, DemoAgent: demoAgent(self),
		AgentsDir: c.AgentsDir, AgentEnv: agentEnv, Log: env.log,
	})
	if err != nil {
		return fmt.Errorf("host: %w", err)
	}
	return host.Run(env.ctx)
}

// demoAgent is the command line of the agent that this binary brings along.
func demoAgent(self string) []string {
	return []string{self, "agent", "--stdio"}
}
