package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"bellhop/agenthost/setup"
	"bellhop/protocol"
)

type agentsCommand struct {
	List    agentsListCommand    `cmd:"" help:"Show the agents this host can run, and whether their programs are here."`
	Install agentsInstallCommand `cmd:"" help:"Fetch agents' programs from the npm registry, verified; the only command that does."`
	Check   agentsCheckCommand   `cmd:"" help:"Start agents' programs once, to see that they run here."`
}

// agentsFlag says where agent programs are; hosts read the same.
type agentsFlag struct {
	AgentsDir string `name:"dir" env:"BELLHOP_AGENTS_DIR" placeholder:"DIR" help:"Where agents' programs are kept. Default: bellhop/agents in your cache folder."`
}

func (f agentsFlag) open() (*setup.Cache, error) {
	return setup.Open(setup.CacheOptions{Dir: f.AgentsDir})
}

// usualAgents are those that need no configuration.
var usualAgents = []string{"opencode", "claude", "codex", "gemini"}

type agentsListCommand struct {
	agentsFlag `embed:""`

	JSON bool `help:"Print JSON."`
}

// agentState is an element of what --json prints.
type agentState struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Version string   `json:"version"` // that is wanted
	State   string   `json:"state"`   // installed, path or missing
	Found   string   `json:"found,omitempty"`
	Command []string `json:"command,omitempty"`
	Problem string   `json:"problem,omitempty"`
	Hint    string   `json:"hint,omitempty"`
}

// Run prints a table or JSON; a program that is missing is no failure.
func (c agentsListCommand) Run(env *environment) error {
	cache, err := c.open()
	if err != nil {
		return err
	}
	states := []agentState{}
	rows := [][]string{}
	for _, agent := range cache.Agents() {
		state := stateOf(env.ctx, cache, agent)
		states = append(states, state)
		where := state.Problem
		if len(state.Command) > 0 {
			where = state.Command[len(state.Command)-1]
		}
		rows = append(rows, []string{state.Name, state.Version, state.State, where})
	}
	if c.JSON {
		encoder := json.NewEncoder(env.stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(states)
	}
	return table(env.stdout, []string{"AGENT", "VERSION", "STATE", "WHERE"}, rows)
}

func stateOf(ctx context.Context, cache *setup.Cache, agent setup.Agent) agentState {
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

	Names []string `arg:"" optional:"" name:"agent" help:"opencode, claude, codex, gemini, claude-agent-acp. Default: the first four."`
}

// Help is shown by --help.
func (agentsInstallCommand) Help() string {
	return `The tested version of each is fetched from the registry npm is configured for (npm_config_registry, else
'npm config get registry'), compared with the checksum this binary knows, and unpacked. No script of a package runs, and
what is there already is left alone. gemini and claude-agent-acp need Node.js 20 or newer.

  bellhop agents install opencode claude`
}

// Run installs one after the other and goes on after a failure.
func (c agentsInstallCommand) Run(env *environment) error {
	cache, err := c.open()
	if err != nil {
		return err
	}
	names := c.Names
	if len(names) == 0 {
		names = usualAgents
	}
	for _, name := range names { // before anything is fetched
		if _, err := cache.Agent(name); err != nil {
			return err
		}
	}
	bar := newProgressBar(env.stderr)
	installer := &setup.Installer{
		Cache: cache, OnProgress: bar.show,
		Registry: func(ctx context.Context) (string, error) { return setup.NPMRegistry(ctx, os.Getenv) },
	}
	var failed error
	for _, name := range names {
		program, fresh, err := installer.Install(env.ctx, name)
		bar.end()
		switch {
		case env.ctx.Err() != nil:
			return env.ctx.Err()
		case err != nil:
			if failed != nil {
				report(env.stderr, failed)
			}
			failed = fmt.Errorf("install %s: %w", name, err)
			continue
		}
		state := "is there already"
		if fresh {
			state = "installed"
		}
		if _, err := fmt.Fprintf(env.stdout, "%s %s %s: %s\n", name, program.Version, state, program.Path()); err != nil {
			return err
		}
	}
	return failed
}

type agentsCheckCommand struct {
	agentsFlag `embed:""`

	Names []string `arg:"" optional:"" name:"agent" help:"Which ones. Default: opencode, claude, codex and gemini."`
}

// Run says of each whether it runs, and fails if one does not.
func (c agentsCheckCommand) Run(env *environment) error {
	cache, err := c.open()
	if err != nil {
		return err
	}
	names := c.Names
	if len(names) == 0 {
		names = usualAgents
	}
	bad := 0
	for _, name := range names {
		program, err := cache.Check(env.ctx, name)
		if err != nil {
			bad++
			report(env.stderr, err)
			continue
		}
		if _, err := fmt.Fprintf(env.stdout, "%s %s runs: %s\n", name, program.Version, program.Path()); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d agents cannot be used", bad, len(names))
	}
	return nil
}
