package main

import (
	"os"
	"strings"

	"bellhop/internal/bench"
)

// benchCommand takes the figures of docs/benchmarks.md on the user's machine.
type benchCommand struct {
	Run  benchRunCommand  `cmd:"" default:"withargs" help:"Measure broker and host on this machine, beside references, and print tables."`
	Role benchRoleCommand `cmd:"" hidden:"" help:"A process of the benchmark."`
	Tee  benchTeeCommand  `cmd:"" hidden:"" help:"Runs an agent's program and adds times to what it writes."`
}

type benchRunCommand struct {
	Figures   []string `name:"run" placeholder:"NAME" help:"Only these figures, of: ${figures}. Default: all but agents."`
	Rounds    int      `default:"5" help:"Rounds of each side of a comparison (${default})."`
	Reference string   `type:"existingdir" placeholder:"DIR" help:"Also measure beside the broker in Node that this directory contains: internal/bench/reference, after npm ci."`
	Agents    string   `type:"existingdir" placeholder:"DIR" help:"Directory of 'bellhop agents install', for the figure agents."`
	Model     string   `placeholder:"URL" help:"A scripted model for the figure agents: internal/testenv/mockllm."`
	Write     string   `type:"existingfile" placeholder:"FILE" help:"Also replace the tables between the markers of this document."`
}

// Help lists the programs that it needs, and says how to read the tables.
func (benchRunCommand) Help() string {
	return `It needs PostgreSQL's programs (initdb, pgbench) and an idle machine, and takes some minutes. All it starts and stores is its own and goes when it ends.

Compare the ratios, not the rates: each figure is measured in turns with a reference, because a machine's speed changes more than the code.

Examples:

    bellhop bench
    bellhop bench --run ingest,checkin --rounds 3`
}

// Run measures and prints.
func (c *benchRunCommand) Run(env *environment) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return bench.Run(env.ctx, bench.Options{
		Binary: self, Figures: c.Figures, Rounds: c.Rounds, Reference: c.Reference, Agents: c.Agents, Model: c.Model,
		Write: c.Write, Out: env.stdout, Log: env.stderr,
	})
}

type benchRoleCommand struct {
	Name string `arg:"" help:"Role of this process."`
}

// Run runs the role's server until the benchmark ends it.
func (c *benchRoleCommand) Run(env *environment) error {
	return bench.PlayRole(env.ctx, c.Name, env.stdin, env.stdout)
}

type benchTeeCommand struct {
	Command []string `arg:"" help:"Program of an agent, with arguments."`
}

// Run ends with the program.
func (c *benchTeeCommand) Run(env *environment) error {
	return bench.Tee(env.ctx, c.Command, env.stdout)
}

// benchVars are the values in the benchmark's help.
func benchVars() map[string]string {
	return map[string]string{"figures": strings.Join(bench.Names(), ", ")}
}
