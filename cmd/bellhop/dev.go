package main

import (
	"fmt"
	"os"
	"path/filepath"

	"bellhop/agenthost/sandbox"
	"bellhop/internal/app"
	"bellhop/internal/process"
)

type devCommand struct {
	hostAgentsFlag `embed:""`

	Data        string   `default:"./.bellhop" placeholder:"DIR" help:"Data directory (${default})."`
	Listen      string   `default:"127.0.0.1:7700" placeholder:"ADDR" help:"The broker's address (${default})."`
	HostListen  string   `default:"127.0.0.1:7701" placeholder:"ADDR" help:"The agent host's address (${default})."`
	Agent       string   `default:"demo" placeholder:"ID" help:"Agent of new tasks (${default}): demo, ${agents}, or acp: and the command line of any agent that speaks ACP."`
	Model       string   `placeholder:"NAME" help:"Model of tasks that name none. Default: the agent chooses."`
	Record      string   `placeholder:"FILE" help:"Record the inputs of all sessions in this file or directory, for 'bellhop replay'."`
	AllowOrigin []string `env:"BELLHOP_ALLOWED_ORIGINS" placeholder:"ORIGIN" help:"Exact origins of other frontends, such as http://localhost:5173; they may use broker and host with the API token."`
	HostOrigin  []string `hidden:"" env:"BELLHOP_HOST_ALLOWED_ORIGINS" placeholder:"ORIGIN" help:"Further origins for the host only."`
	Project     string   `placeholder:"DIR" help:"Offer this directory as the project 'project'. Without it, every session gets a new directory."`
}

// Help is shown by --help.
func (devCommand) Help() string {
	return `Runs a broker with SQLite, an agent host and the demo agent on this machine, without any configuration. A later
start continues with the same data. DIR/dev.json, which only you can read, holds the URLs, a user's e-mail address and
password, an API token and the host's password.

'bellhop agents install' installs the programs of real agents. They read their keys (ANTHROPIC_API_KEY, OPENAI_API_KEY,
GEMINI_API_KEY …) from the environment:

  ANTHROPIC_API_KEY=… bellhop dev --agent claude --project ~/src/shop

A frontend of your own on another port needs its origin:

  bellhop dev --allow-origin http://localhost:5173`
}

// Run serves until the context ends.
func (c devCommand) Run(env *environment) error {
	if err := runsAgents(process.Supported); err != nil {
		return err
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
	dev, err := app.OpenDev(env.ctx, app.DevConfig{
		Data: c.Data, Listen: c.Listen, HostListen: c.HostListen,
		AllowedOrigins: c.AllowOrigin, HostAllowedOrigins: c.HostOrigin,
		Agent: c.Agent, Model: c.Model, Project: c.Project, Record: c.Record,
		DemoAgent: demoAgentCommandLine(self), VerifyWorker: verifyWorkerCommandLine(self), VerifyCache: verifyCache(),
		AgentsDir: c.AgentsDir, Registry: npmRegistry, AgentEnv: agentEnv, NoSandbox: c.NoSandbox,
		Version: version, Log: env.log,
	})
	if err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	file := filepath.Join(c.Data, "dev.json")
	if _, err := fmt.Fprintf(env.stdout, `Bellhop runs here.

  console     %s
  broker      %s
  agent host  %s
  sign in     %s
              (one use, 15 minutes; or %s with the password in %s)
  API token   in %s
  talk        bellhop chat --dev %s

Ctrl-C ends it; everything is kept in %s.
`, dev.Console, dev.Broker.URL, dev.Host.URL, dev.Link, dev.File.Email, file, file, c.Data, c.Data); err != nil {
		return err
	}
	return dev.Run(env.ctx)
}
