package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"bellhop/internal/torture"
)

// tortureCommand is hidden from the help: it is for operators who want to see the
// promise of docs/reliability.md proven, not for operation.
type tortureCommand struct {
	Run   tortureRunCommand   `cmd:"" default:"withargs" help:"Run clusters of real processes under faults and check that nothing is lost or doubled."`
	Agent tortureAgentCommand `cmd:"" hidden:"" help:"The scripted agent of those clusters."`
}

type tortureRunCommand struct {
	Seed        uint64 `help:"Repeat this seed. Default: the seed of the run in --dir, else a random one."`
	Rounds      int    `default:"50" help:"Rounds of about a minute; each has a cluster of its own (${default})."`
	Only        int    `placeholder:"ROUND" help:"Run only this round of the seed."`
	Dir         string `default:"./bellhop-torture" placeholder:"DIR" help:"Directory of report.json and report.md, from which an interrupted run continues (${default})."`
	OtherBinary string `type:"existingfile" placeholder:"PATH" help:"Another version of bellhop: its hosts under our brokers, and the other way round."`

	Kills            int `default:"${kills}" help:"SIGKILLs of brokers and hosts in each round (${default})."`
	PowerCuts        int `default:"${powerCuts}" help:"Power cuts of hosts in each round; needs root, loop devices and mkfs.ext4 (${default})."`
	Failovers        int `default:"${failovers}" help:"Failovers to the standby in each round (${default})."`
	JournalRestores  int `default:"${journalRestores}" help:"Restores of a host's journal in each round (${default})."`
	DatabaseRestores int `default:"${databaseRestores}" help:"Restores of the broker's database in each round (${default})."`
	FullDisks        int `default:"${fullDisks}" help:"Full disks of hosts in each round; needs root (${default})."`
	Clocks           int `default:"${clocks}" help:"Clocks of one server that are wrong for a while, by up to two years, in each round (${default})."`
	NetworkFaults    int `default:"${networkFaults}" help:"Faults of connections and gateways in each round (${default})."`
	Events           int `default:"${events}" help:"Events that readers see in each round, at least (${default})."`
}

// Help explains the outcome.
func (tortureRunCommand) Help() string {
	return "It needs PostgreSQL's programs (initdb, pg_basebackup). Exit code 0: everything was stored once, in " +
		"order, and the checker found all damage of its self-test."
}

// Run runs the rounds and prints the report.
func (c *tortureRunCommand) Run(env *environment) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	opts := torture.Options{
		Binary: self, Other: c.OtherBinary, Dir: c.Dir, Seed: c.Seed, Rounds: c.Rounds, Only: c.Only,
		Profile: c.profile(), Out: env.stderr,
	}
	if opts.Seed == 0 {
		if opts.Seed, err = torture.SeedOf(c.Dir); err != nil {
			return err
		}
	}
	if opts.Seed == 0 {
		opts.Seed = rand.Uint64N(1 << 32)
	}
	report, err := torture.Run(env.ctx, opts)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(env.stdout, report.Markdown()); err != nil {
		return err
	}
	if !report.OK() {
		return errors.New("the promise was broken, or a round could not be finished: see the report")
	}
	return nil
}

func (c *tortureRunCommand) profile() torture.Profile {
	p := torture.DefaultProfile()
	p.Kills, p.PowerCuts, p.Failovers, p.Events = c.Kills, c.PowerCuts, c.Failovers, c.Events
	p.JournalRestores, p.DatabaseRestores = c.JournalRestores, c.DatabaseRestores
	p.FullDisks, p.NetworkFaults, p.Clocks = c.FullDisks, c.NetworkFaults, c.Clocks
	return p
}

type tortureAgentCommand struct {
	Ledger string `required:"" placeholder:"FILE" help:"File that gets the label of every prompt."`
}

// Run speaks the headless interface on stdin and stdout.
func (c *tortureAgentCommand) Run(env *environment) error {
	return torture.Agent(env.ctx, env.stdin, env.stdout, c.Ledger)
}

// tortureVars are the defaults of the torture's flags.
func tortureVars() map[string]string {
	p := torture.DefaultProfile()
	vars := map[string]string{}
	for name, n := range map[string]int{
		"kills": p.Kills, "powerCuts": p.PowerCuts, "failovers": p.Failovers, "journalRestores": p.JournalRestores,
		"databaseRestores": p.DatabaseRestores, "fullDisks": p.FullDisks, "clocks": p.Clocks,
		"networkFaults": p.NetworkFaults, "events": p.Events,
	} {
		vars[name] = strconv.Itoa(n)
	}
	return vars
}
