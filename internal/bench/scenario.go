package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// scenario is one table of figures.
type scenario struct {
	name, title string
	measure     func(r *run) []row
	onRequest   bool // needs third-party programs: only Options.Figures selects it
}

var scenarios = []scenario{
	{name: "ingest", title: "Webhook ingest (PostgreSQL)", measure: ingest},
	{name: "checkin", title: "Check-in", measure: checkIn},
	{name: "stream", title: "Streams", measure: stream},
	{name: "latency", title: "From the agent to database and browser", measure: latency},
	{name: "idle", title: "Idle sessions", measure: idle},
	{name: "headless", title: "Headless interface", measure: headless},
	{name: "policy", title: "Policy", measure: decisions},
	{name: "deliveries", title: "Outbound webhooks (PostgreSQL)", measure: deliveries},
	{name: "agents", title: "Agents", measure: agents, onRequest: true},
}

// Options say what to measure.
type Options struct {
	Binary    string   // path of bellhop
	Figures   []string // names of scenarios; empty = all that need no third-party programs
	Rounds    int      // of each side; 0 = 5
	Reference string   // directory of the Node broker, with its packages; "" = without it
	Agents    string   // directory of "bellhop agents install", for the figure "agents"
	Model     string   // URL of internal/testenv/mockllm, for the same
	Write     string   // document whose tables are replaced; "" = none
	Out       io.Writer
	Log       io.Writer // progress
}

// settings are shared by all scenarios of a run.
type settings struct {
	scale     scale
	bellhop   string // path of the binary; "" = this one, in the role of a broker
	reference string // directory of the Node broker; "" = none
	agents    string // directory of "bellhop agents install"
	model     string // URL of the scripted model
	log       func(format string, args ...any)
}

// Run measures and prints a table for each scenario as soon as it is complete.
func Run(ctx context.Context, opts Options) error {
	chosen, err := choose(opts.Figures)
	if err != nil {
		return err
	}
	s := &settings{
		scale: full, bellhop: opts.Binary, reference: opts.Reference, agents: opts.Agents, model: opts.Model,
		log: func(format string, args ...any) { _, _ = fmt.Fprintf(opts.Log, format+"\n", args...) },
	}
	if opts.Rounds > 0 {
		s.scale.rounds = opts.Rounds
	}
	if _, err := fmt.Fprintln(opts.Out, circumstances(ctx)); err != nil {
		return err
	}
	tables := map[string][]row{}
	for _, c := range chosen {
		s.log("%s …", c.name)
		rows, err := s.run(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		tables[c.name] = rows
		if _, err := fmt.Fprintf(opts.Out, "\n### %s\n\n%s", c.title, markdown(rows)); err != nil {
			return err
		}
	}
	if opts.Write == "" {
		return nil
	}
	return writeTables(ctx, opts.Write, tables)
}

// choose finds scenarios by name; without names it returns all that need no
// third-party programs.
func choose(names []string) (chosen []scenario, err error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return s.onRequest }), nil
	}
	for _, name := range names {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no figure %q; there are: %s", name, strings.Join(Names(), ", "))
		}
		chosen = append(chosen, scenarios[i])
	}
	return chosen, nil
}

// Names returns the names of all scenarios.
func Names() []string { return each(scenarios, func(s scenario) string { return s.name }) }

// scale holds the sizes of all scenarios.
type scale struct {
	rounds int           // of each side, in turns
	round  time.Duration // of one side

	clients int // clients that post webhooks at a time
	tasks   int
	batch   int // events in a batched request

	checkIns int
	callers  int // clients that check in at a time

	sessions int // sessions that stream
	readers  int // on all sessions in total
	stalled  int // readers that never read
	backlog  int // bytes sent to the stalled readers at once

	busy int // sessions of the latency figure
	idle int // sessions of the idle figure

	endpoints int           // of outbound webhooks
	queued    int           // deliveries that are due later
	hanging   int           // deliveries to the hanging endpoint
	ahead     time.Duration // how far ahead of their due time deliveries are queued

	pieces     int // pieces of text of an agent
	workspaces int // workspaces of the demo agent at once
	servers    int // of OpenCode at once

	every time.Duration // between parts of a session
}

var full = scale{
	rounds: 5, round: 5 * time.Second,
	clients: 32, tasks: 1024, batch: 100,
	checkIns: 400, callers: 16,
	sessions: 50, readers: 2000, stalled: 20, backlog: 3_900_000,
	busy: 100, idle: 10_000,
	endpoints: 1000, queued: 100_000, hanging: 2000, ahead: 2 * time.Second, // the broker polls each second
	pieces: 40, workspaces: 20, servers: 3,
	every: 50 * time.Millisecond,
}
