package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"bellhop/agenthost/sandbox"
	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
	"bellhop/internal/process"
	"bellhop/protocol"
)

type agentsCommand struct {
	List    agentsListCommand    `cmd:"" help:"Show the agents this host can run, and whether their programs are installed."`
	Install agentsInstallCommand `cmd:"" help:"Download agents' programs from the npm registry and verify them."`
	Check   agentsCheckCommand   `cmd:"" help:"Start each agent's program once to check that it runs."`
	Restart agentsRestartCommand `cmd:"" help:"Restart the agent program of a session of a running host."`
	Offered agentsOfferedCommand `cmd:"" help:"Show the agents that the hosts of a broker offer."`
}

// agentsFlag names the directory of the agents' programs.
type agentsFlag struct {
	AgentsDir string `name:"dir" env:"BELLHOP_AGENTS_DIR" placeholder:"DIR" help:"Directory of the agents' programs. Default: bellhop/agents in your cache directory."`
}

// openCache returns a cache whose programs print their versions in a sandbox without a
// network, as far as this machine has one.
func (f agentsFlag) openCache(env *environment) (*setup.Cache, error) {
	cache, err := agents.OpenCache(f.AgentsDir)
	if err != nil {
		return nil, err
	}
	open := sync.OnceValues(func() (*sandbox.Sandbox, error) { return openSandbox(env, cache.Dir()) })
	cache.Confine(func(home string, c process.Command) (process.Command, error) {
		opened, err := open()
		if err != nil {
			return c, err
		}
		return opened.ConfineAlone(home, nil, c)
	})
	return cache, nil
}

// openSandbox measures this machine's sandbox. programs is the directory of installed ones.
func openSandbox(env *environment, programs string) (*sandbox.Sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bellhop-sandbox-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return sandbox.Open(env.ctx, sandbox.Options{Self: self, Data: dir, Programs: programs, Users: &sandbox.Users{}})
}

type agentsListCommand struct {
	agentsFlag `embed:""`

	JSON bool `help:"Print JSON."`
}

// agentState is an element of the array that --json prints.
type agentState struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Version string   `json:"version"` // the tested version
	State   string   `json:"state"`   // installed, path or missing
	Found   string   `json:"found,omitempty"`
	Command []string `json:"command,omitempty"`
	Problem string   `json:"problem,omitempty"`
	Hint    string   `json:"hint,omitempty"`
}

// Run prints a table or JSON. A missing program is not an error.
func (c agentsListCommand) Run(env *environment) error {
	cache, err := c.openCache(env)
	if err != nil {
		return err
	}
	states := []agentState{}
	rows := [][]string{}
	for _, agent := range cache.Agents() {
		state := agentStateOf(env.ctx, cache, agent)
		states = append(states, state)
		where := state.Problem
		if len(state.Command) > 0 {
			where = state.Command[len(state.Command)-1]
		}
		rows = append(rows, []string{state.Name, state.Version, state.State, where})
	}
	if c.JSON {
		return printJSON(env.stdout, states)
	}
	return table(env.stdout, []string{"AGENT", "VERSION", "STATE", "WHERE"}, rows)
}

func agentStateOf(ctx context.Context, cache *setup.Cache, agent setup.Agent) agentState {
	state := agentState{Name: agent.Name, Title: agent.Title, Version: agent.Version, State: "missing"}
	program, err := cache.Find(ctx, agent.Name, setup.Want{})
	if err == nil {
		state.State, state.Found, state.Command = string(program.Source), program.Version, program.Command
		return state
	}
	state.Problem = err.Error()
	var e *protocol.Error
	if errors.As(err, &e) {
		state.Problem, state.Hint = e.Message, e.Hint
	}
	return state
}

type agentsInstallCommand struct {
	agentsFlag `embed:""`

	All   bool     `help:"Install every program."`
	Names []string `arg:"" optional:"" name:"agent" help:"Which ones of ${programs}. Default: ${agents}."`
}

// Help is shown by --help.
func (agentsInstallCommand) Help() string {
	return `Downloads the tested version of each program from the registry that npm uses (npm_config_registry, else
'npm config get registry'), compares it with the checksum in this binary, and unpacks it. No script of a package runs.
Programs that are already installed are skipped. Some programs need Node.js; an error names the version.

  bellhop agents install opencode claude`
}

// Run installs the programs one after another. After a failure it continues with
// the next one, and returns the last error.
func (c agentsInstallCommand) Run(env *environment) error {
	cache, err := c.openCache(env)
	if err != nil {
		return err
	}
	names, err := c.selectedNames()
	if err != nil {
		return err
	}
	for _, name := range names { // refuse unknown names before the first download
		if _, err := cache.Agent(name); err != nil {
			return err
		}
	}
	bar := newProgressBar(env.stderr)
	installer := &setup.Installer{
		Cache: cache, OnProgress: bar.update,
		Registry: npmRegistry,
	}
	var failed error
	for _, name := range names {
		program, fresh, err := installer.Install(env.ctx, name)
		bar.clear()
		switch {
		case env.ctx.Err() != nil:
			return env.ctx.Err()
		case err != nil:
			if failed != nil {
				printError(env.stderr, failed)
			}
			failed = fmt.Errorf("install %s: %w", name, err)
			continue
		}
		state := "already installed"
		if fresh {
			state = "installed"
		}
		if _, err := fmt.Fprintf(env.stdout, "%s %s %s: %s\n", name, program.Version, state, program.Path()); err != nil {
			return err
		}
	}
	return failed
}

// npmRegistry returns the registry that npm uses.
func npmRegistry(ctx context.Context) (string, error) { return setup.NPMRegistry(ctx, os.Getenv) }

func (c agentsInstallCommand) selectedNames() ([]string, error) {
	switch {
	case c.All && len(c.Names) > 0:
		return nil, protocol.Errorf(protocol.CodeInvalid, "use --all or names, not both")
	case c.All:
		var all []string
		for _, program := range agents.Programs() {
			all = append(all, program.Name)
		}
		return all, nil
	case len(c.Names) > 0:
		return c.Names, nil
	default:
		return agents.BuiltIn(), nil
	}
}

type agentsCheckCommand struct {
	agentsFlag `embed:""`

	Names []string `arg:"" optional:"" name:"agent" help:"Which ones of ${programs}. Default: ${agents}."`
}

// Run prints a line for each program that runs, and fails if one does not.
func (c agentsCheckCommand) Run(env *environment) error {
	cache, err := c.openCache(env)
	if err != nil {
		return err
	}
	names := c.Names
	if len(names) == 0 {
		names = agents.BuiltIn()
	}
	failures := 0
	for _, name := range names {
		program, err := cache.Check(env.ctx, name)
		if err != nil {
			failures++
			printError(env.stderr, err)
			continue
		}
		if _, err := fmt.Fprintf(env.stdout, "%s %s runs: %s\n", name, program.Version, program.Path()); err != nil {
			return err
		}
		if note := agents.Unasked(name); note != "" {
			if _, err := fmt.Fprintf(env.stdout, "  %s\n", note); err != nil {
				return err
			}
		}
	}
	if err := printSandbox(env); err != nil {
		return err
	}
	if failures > 0 {
		return fmt.Errorf("%d of %d agents cannot be used", failures, len(names))
	}
	return nil
}

// printSandbox prints what this machine's sandbox keeps from agents.
func printSandbox(env *environment) error {
	opened, err := openSandbox(env, "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "sandbox %s\n", opened.Level().Summary())
	return err
}
