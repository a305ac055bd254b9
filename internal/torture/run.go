//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bellhop/internal/torture/check"
)

// Run runs the rounds that the report in opts.Dir does not have yet, and returns the report.
// The error is about the run itself; what the checker found is in the report.
func Run(ctx context.Context, opts Options) (*Report, error) {
	dir, err := filepath.Abs(opts.Dir) // agents have another working directory
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	opts.Dir = dir
	opts.Out = &lineWriter{out: opts.Out}
	report, err := opts.report(ctx)
	if err != nil {
		return nil, err
	}
	if opts.Profile.PowerCuts > 0 {
		opts.noPowerCuts = noPowerCuts(ctx, opts.Dir)
	}
	done := map[int]bool{}
	for _, round := range report.Rounds {
		done[round.Number] = true
	}
	for n := 1; n <= opts.Rounds; n++ {
		if done[n] || opts.Only != 0 && opts.Only != n {
			continue
		}
		round, observed := runRound(ctx, opts.forRound(n), n)
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		report.Rounds = append(report.Rounds, round)
		if observed != nil && len(round.Violations) == 0 && report.SelfTest == nil {
			test := check.TestSelf(observed, round.Seed)
			report.SelfTest = &test
		}
		if err := report.write(opts.reportFile()); err != nil {
			return report, err
		}
		opts.sayf("%s", report.progress())
	}
	return report, nil
}

// report continues the report in opts.Dir or begins one.
func (o Options) report(ctx context.Context) (*Report, error) {
	version, err := versionOf(ctx, o.Binary)
	if err != nil {
		return nil, err
	}
	fresh := &Report{Version: version, Machine: machine(), Seed: o.Seed, Planned: o.Rounds, Profile: o.Profile}
	if o.Other != "" {
		if fresh.Other, err = versionOf(ctx, o.Other); err != nil {
			return nil, err
		}
	}
	before, err := readReport(o.reportFile())
	if before == nil || err != nil {
		return fresh, err
	}
	if before.Version != fresh.Version || before.Seed != fresh.Seed || before.Profile != fresh.Profile ||
		before.Other != fresh.Other {
		return nil, fmt.Errorf("%s is of another run (version %s, seed %d): name another directory, or the same "+
			"version, seed and amounts",
			o.reportFile(), before.Version, before.Seed)
	}
	before.Planned = o.Rounds
	return before, nil
}

// SeedOf returns the seed of the run that dir has a report of, 0 without one.
func SeedOf(dir string) (uint64, error) {
	report, err := readReport(Options{Dir: dir}.reportFile())
	if report == nil || err != nil {
		return 0, err
	}
	return report.Seed, nil
}

func versionOf(ctx context.Context, binary string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, "version").Output() //nolint:gosec // named by the caller
	return strings.TrimSpace(string(out)), err
}

func machine() string {
	memory := ""
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		memory = fmt.Sprintf(", %d GiB", info.Totalram*uint64(info.Unit)>>30)
	}
	return fmt.Sprintf("%d cores%s, %s/%s", runtime.NumCPU(), memory, runtime.GOOS, runtime.GOARCH)
}

// lineWriter lets the goroutines of a round print whole lines.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(line)
}

func (o Options) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Out, format+"\n", args...)
}

// roundSeed follows from the run's seed, so that a round can be repeated alone.
func roundSeed(seed uint64, number int) uint64 {
	return rand.New(rand.NewPCG(seed, uint64(number))).Uint64() >> 12 //nolint:gosec // counted from 1
}

// runRound runs a cluster from its start to the checker's findings. The observation is nil if
// the round could not be finished. What a failed round leaves is kept in its directory.
func runRound(ctx context.Context, opts Options, number int) (Round, *check.Observation) {
	round := Round{
		Number: number, Seed: roundSeed(opts.Seed, number), Mix: string(opts.mix),
		Started: time.Now().UTC(), Violations: []check.Violation{},
	}
	if !canMount() && opts.Profile.FullDisks > 0 {
		round.Skipped = append(round.Skipped, "full disks: only root may mount a small file system")
	}
	if why := noClocks(); why != "" && opts.Profile.Clocks > 0 {
		round.Skipped = append(round.Skipped, "wrong clocks: "+why)
	}
	if opts.noPowerCuts != "" {
		round.Skipped = append(round.Skipped, "power cuts: "+opts.noPowerCuts)
	}
	dir := filepath.Join(opts.Dir, fmt.Sprintf("round-%d", number))
	observed, err := opts.observe(ctx, &round, dir)
	if err != nil {
		round.Error = err.Error()
	}
	if observed != nil {
		round.Violations = append(round.Violations, check.Run(observed)...)
		for _, s := range observed.Sessions {
			round.Events += len(s.Rows)
			round.Receipts += len(s.Receipts)
			for _, r := range s.Receipts {
				if r.LookedUp {
					round.LookedUp++
				}
			}
		}
	}
	round.Seconds = time.Since(round.Started).Seconds()
	if round.Error == "" && len(round.Violations) == 0 {
		err = os.RemoveAll(dir)
	} else {
		err = keep(dir, observed)
	}
	if err != nil {
		round.Error = strings.TrimSpace(round.Error + "\n" + err.Error())
	}
	return round, observed
}

// keep writes the observation beside the logs of a failed round.
func keep(dir string, observed *check.Observation) error {
	content, err := json.MarshalIndent(observed, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "observation.json"), content, 0o600)
}

// observe runs load and faults until both are over and everything is quiet.
func (o Options) observe(ctx context.Context, round *Round, dir string) (observed *check.Observation, err error) {
	if err := errors.Join(removeRound(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	o.sayf("round %d: seed %d, %s: starting", round.Number, round.Seed, o.mix)
	c, err := startCluster(ctx, o, dir, round.Seed)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	l, err := newLoad(ctx, c, o.Profile.Tasks, round.Seed)
	if err != nil {
		return nil, err
	}
	e := &executor{
		c: c, counts: map[string]int{},
		note: func(what string) { o.sayf("round %d: %6d events seen: %s", round.Number, l.seen.Load(), what) },
	}
	l.start(ctx)
	err = e.run(ctx, newPlan(round.Seed, o.Profile))
	for err == nil && l.seen.Load() < int64(o.Profile.Events) {
		if !pause(ctx, 20*time.Millisecond) {
			err = ctx.Err()
		}
	}
	l.finish()
	round.Faults, round.Turns = e.counted(), int(l.turns.Load())
	if err != nil {
		return nil, err
	}
	o.sayf("round %d: %6d events seen: the faults are over", round.Number, l.seen.Load())
	if err := c.awaitQuiet(ctx, l); err != nil {
		return nil, err
	}
	return c.collect(ctx, l)
}

// quietLimit bounds the wait for the next progress. It is longer than the longest back-off of a host.
const quietLimit = 3 * time.Minute

// awaitQuiet waits as long as there is progress: on a loaded machine everything may take minutes.
func (c *cluster) awaitQuiet(ctx context.Context, l *load) error {
	why, since := "", time.Now()
	return eventually(ctx, 10*quietLimit, "everything has arrived", func(ctx context.Context) (bool, error) {
		found := c.quiet(ctx, l)
		switch {
		case found != why:
			why, since = found, time.Now()
		case time.Since(since) > quietLimit:
			return false, fmt.Errorf("no progress for %v: %s", quietLimit, why)
		}
		return found == "", nil
	})
}

// progress is one line about the run so far.
func (r *Report) progress() string {
	sum := r.total()
	last := r.Rounds[len(r.Rounds)-1]
	lines := []string{
		fmt.Sprintf("round %d: %.0f s, %d events, %d violations; so far %d of %d rounds, %d events, %d kills, %d "+
			"failovers, %d violations",
			last.Number, last.Seconds, last.Events, len(last.Violations), len(r.Rounds), r.Planned, sum.Events,
			sum.Faults[faultKill], sum.Faults[faultFailover], len(sum.Violations)),
	}
	if last.Error != "" {
		lines = append(lines, last.Error)
	}
	for _, v := range last.Violations[:min(shownViolations, len(last.Violations))] {
		lines = append(lines, "- "+v.String())
	}
	return strings.Join(lines, "\n")
}
