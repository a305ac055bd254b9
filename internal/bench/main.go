package main

import (
	"cmp"
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
	if role := os.Getenv(roleVariable); role == "tee" {
		err = playTee(context.WithoutCancel(ctx), args, stdout)
	} else if role != "" {
		err = playRole(context.WithoutCancel(ctx), role, os.Stdin, stdout)
	} else {
		err = run(ctx, args, stdout, stderr)
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	default:
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
}

// figure is one benchmark.
type figure struct {
	name    string
	measure func(ctx context.Context, b *bench) ([]row, error)
}

var figures = []figure{
	{"ingest", measureIngest},
	{"checkin", measureCheckIn},
	{"stream", measureStream},
	{"latency", measureLatency},
	{"idle", measureIdle},
	{"headless", measureHeadless},
	{"policy", measurePolicy},
	{"deliveries", measureDeliveries},
}

// onRequest are the figures that only -run takes: they need programs that are
// not ours.
var onRequest = []figure{{"agents", measureAgents}}

// bench is what every benchmark works with.
type bench struct {
	scale   scale
	bellhop string // path of the binary; "" = this one, in the role of a broker
	agents  string // folder of `bellhop agents install`
	profile string // folder for CPU profiles of that role; "" = none
	log     func(format string, args ...any)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	bellhop := flags.String("bellhop", "", "path of the bellhop `binary`; without it this binary plays the broker")
	only := flags.String("run", "", "comma-separated `names` of figures, of: "+figureNames()+" (default all but agents)")
	agents := flags.String("agents", "", "`folder` that 'bellhop agents install' filled, for the figure agents")
	write := flags.String("write", "", "also write the tables into this `file`, between its markers")
	profile := flags.String("profile", "", "`folder` for CPU profiles of the broker (without -bellhop), CPU and heap profiles of the host")
	rounds := flags.Int("rounds", full.rounds, "`number` of rounds of each side")
	quick := flags.Bool("quick", false, "an instant of each, to see that it works")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	b := &bench{scale: full, bellhop: *bellhop, agents: *agents, profile: *profile, log: func(format string, args ...any) {
		_, _ = fmt.Fprintf(stderr, format+"\n", args...)
	}}
	b.scale.rounds = max(1, *rounds)
	if *quick {
		b.scale = smoke
	}
	var tables []table
	for _, f := range chosen {
		b.log("%s …", f.name)
		rows, err := f.measure(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		tables = append(tables, table{name: f.name, rows: rows})
		if _, err := io.WriteString(stdout, tables[len(tables)-1].markdown()); err != nil {
			return err
		}
	}
	if *write == "" {
		return nil
	}
	return writeTables(ctx, *write, tables)
}

func choose(names string) ([]figure, error) {
	if names == "" {
		return figures, nil
	}
	var chosen []figure
	all := slices.Concat(figures, onRequest)
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(f figure) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-run: there is no %q; there are %s", name, figureNames())
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func figureNames() string {
	var names []string
	for _, f := range slices.Concat(figures, onRequest) {
		names = append(names, f.name)
	}
	return strings.Join(names, " ")
}

// median of an odd or even number of values.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
