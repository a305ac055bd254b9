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
	profile string // folder for CPU profiles of the broker's role; "" = none
	log     func(format string, args ...any)
}

func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b := &bench{log: func(format string, args ...any) { _, _ = fmt.Fprintf(stderr, format+"\n", args...) }}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&b.bellhop, "bellhop", "", "path of the bellhop `binary`; without it this binary plays the broker")
	only := flags.String("run", "", "comma-separated `names` of figures, of: "+scenarioNames()+" (default all but agents)")
	flags.StringVar(&b.agents, "agents", "", "`folder` that 'bellhop agents install' filled, for the figure agents")
	write := flags.String("write", "", "also write the tables into this `file`, between its markers")
	flags.StringVar(&b.profile, "profile", "",
		"`folder` for CPU profiles of the broker (without -bellhop), CPU and heap profiles of the host")
	rounds := flags.Int("rounds", full.rounds, "`number` of rounds of each side")
	quick := flags.Bool("quick", false, "an instant of each, to see that it works")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	b.scale = full
	b.scale.rounds = max(1, *rounds)
	if *quick {
		b.scale = smoke
	}
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
