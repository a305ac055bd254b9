package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := mainIn(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func mainIn(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var err error
	switch role := os.Getenv(roleVariable); role {
	case "":
		err = runBench(ctx, args, stdout, stderr)
	case "tee":
		err = playTee(context.WithoutCancel(ctx), args, stdout)
	default:
		err = playRole(ctx, role, os.Stdin, stdout)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "bench:", err)
	return 1
}

// scenario is one table of figures.
type scenario struct {
	name, title string
	measure     func(r *run) []row
	onRequest   bool // needs third-party programs: only -run selects it
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

// bench holds the settings that all scenarios share.
type bench struct {
	scale   scale
	bellhop string // path of the binary; "" = this one, in the role of a broker
	agents  string // folder of `bellhop agents install`
	log     func(format string, args ...any)
}

func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b := &bench{scale: full, log: func(format string, args ...any) { _, _ = fmt.Fprintf(stderr, format+"\n", args...) }}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&b.bellhop, "bellhop", "", "path of the bellhop `binary`; without it this binary plays the broker")
	only := flags.String("run", "", "comma-separated `names` of figures, of: "+scenarioNames()+" (default all but agents)")
	flags.StringVar(&b.agents, "agents", "", "`folder` that 'bellhop agents install' filled, for the figure agents")
	write := flags.String("write", "", "also write the tables into this `file`, between its markers")
	flags.IntVar(&b.scale.rounds, "rounds", full.rounds, "`number` of rounds of each side")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	b.scale.rounds = max(1, b.scale.rounds)
	tables := map[string][]row{}
	for _, s := range chosen {
		b.log("%s …", s.name)
		rows, err := b.run(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		tables[s.name] = rows
		if _, err := fmt.Fprintf(stdout, "\n### %s\n\n%s", s.title, markdown(rows)); err != nil {
			return err
		}
	}
	if *write == "" {
		return nil
	}
	return writeTables(ctx, *write, tables)
}

// choose finds the scenarios of a comma-separated list; "" means all that need no
// third-party programs.
func choose(names string) (chosen []scenario, err error) {
	if names == "" {
		return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return s.onRequest }), nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-run: there is no %q; there are %s", name, scenarioNames())
		}
		chosen = append(chosen, scenarios[i])
	}
	return chosen, nil
}

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
