package main

import (
	"fmt"
	"os"

	"bellhop/agenthost/sandbox"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/process"
	"bellhop/internal/tracing"
)

type hostCommand struct {
	hostAgentsFlag `embed:""`
	tracesFlags    `embed:""`

	Listen         string      `env:"BELLHOP_HOST_LISTEN" default:"127.0.0.1:7701" placeholder:"ADDR" help:"Address to listen on (${default})."`
	LocalListen    string      `env:"BELLHOP_HOST_LOCAL_LISTEN" default:"127.0.0.1:0" placeholder:"ADDR" help:"Loopback address for hooks and tools of programs in workspaces (${default}). Port 0 chooses a free port once and keeps it."`
	PublicURL      string      `env:"BELLHOP_HOST_PUBLIC_URL" placeholder:"URL" help:"URL at which browsers reach the streams. Default: http://<listen>."`
	Password       seal.Secret `name:"password-file" env:"BELLHOP_HOST_PASSWORD" secret:"" placeholder:"FILE" help:"File with the password of the brokers, the same as in 'bellhop hosts add'."`
	Data           string      `env:"BELLHOP_HOST_DATA" default:"./bellhop-host" placeholder:"DIR" help:"Directory for the journal, workspaces and agents' state (${default})."`
	Config         string      `env:"BELLHOP_HOST_CONFIG" placeholder:"FILE" help:"YAML file with agents, projects and policy."`
	Record         string      `env:"BELLHOP_HOST_RECORD" placeholder:"FILE" help:"Record the inputs of all sessions in this file or directory, for 'bellhop replay'."`
	DiskWarning    diskSize    `env:"BELLHOP_HOST_DISK_WARNING" default:"1GiB" placeholder:"SIZE" help:"Free space on the disk of the data below which a warning is shown (${default}); 0 for none."`
	AdminListen    string      `env:"BELLHOP_HOST_ADMIN_LISTEN" placeholder:"ADDR" help:"Address for metrics and profiles (pprof) with the host's password, such as :7711, which is on loopback. Default: none."`
	TrustedProxies []string    `env:"BELLHOP_HOST_TRUSTED_PROXIES" placeholder:"CIDR" help:"Proxies in front of the host, comma-separated addresses or CIDRs; their X-Forwarded-For and X-Forwarded-Host are believed."`
	AllowInstalls  bool        `env:"BELLHOP_HOST_ALLOW_INSTALLS" help:"Let administrators of brokers install agents' programs on this host, from the npm registry (no by default)."`
	AllowedOrigins []string    `env:"BELLHOP_HOST_ALLOWED_ORIGINS" placeholder:"ORIGIN" help:"Exact origins of pages that may read streams, comma-separated."`
}

// Help is shown by --help.
func (hostCommand) Help() string {
	return `The agent host runs agents next to the code, streams their work to browsers and posts final events to the
broker. Events are stored in a journal first, so none is lost if the host crashes or the broker cannot be reached.

'bellhop agents list' shows the built-in agents, 'bellhop agents install' installs their programs. They read the keys of
their language models from the environment (ANTHROPIC_API_KEY …). The configuration file adds projects, and agents that
speak the headless interface (JSON lines on stdio) or ACP:

  agents:
    claude: {model: claude-sonnet-4-5}
    mine:
      command: [/usr/local/bin/my-agent, --stdio]
      env: {MY_AGENT_MODE: careful}
  projects:
    shop: /srv/shop

Tokens of forges let users push and open pull requests; a token is in a file, or in a variable of the environment:

  forges:
    github.com: {tokenFile: /etc/bellhop/github-token}
    git.example.com: {kind: gitea, tokenVariable: GITEA_TOKEN}

Rules decide which tool calls need a user's permission (bellhop policy --help). Without this line, the built-in rules apply:

  policy: /etc/bellhop/policy.yaml

  BELLHOP_HOST_PASSWORD=… bellhop host --data /var/lib/bellhop`
}

// Run serves until the context ends.
func (c hostCommand) Run(env *environment) error {
	if err := runsAgents(process.Supported); err != nil {
		return err
	}
	config, err := app.ReadHostFile(c.Config)
	if err != nil {
		return fmt.Errorf("BELLHOP_HOST_CONFIG: %w", err)
	}
	if err := config.ReadTokens(os.LookupEnv, os.ReadFile); err != nil {
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
	if err := sandbox.Undumpable(); err != nil {
		return err
	}
	hostConfig := app.HostConfig{
		Listen: c.Listen, LocalListen: c.LocalListen, PublicURL: c.PublicURL, Password: c.Password, Data: c.Data,
		File: config, Record: c.Record, Version: version, AllowedOrigins: c.AllowedOrigins,
		TrustedProxies: c.TrustedProxies, DemoAgent: demoAgentCommandLine(self), AdminListen: c.AdminListen,
		AgentsDir: c.AgentsDir, AgentEnv: agentEnv, NoSandbox: c.NoSandbox, AllowInstalls: c.AllowInstalls,
		Registry:    npmRegistry,
		DiskWarning: int64(c.DiskWarning), Log: env.log,
	}
	return c.traced(env, "bellhop-host", func(tracer *tracing.Tracer) error {
		hostConfig.Traces = tracer.Observer()
		host, err := app.AwaitHost(env.ctx, hostConfig)
		if err != nil {
			return fmt.Errorf("host: %w", err)
		}
		return host.Run(env.ctx)
	})
}

// demoAgentCommandLine starts this binary as the demo agent.
func demoAgentCommandLine(self string) []string {
	return []string{self, "agent", "--stdio"}
}
