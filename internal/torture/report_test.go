//go:build linux

package torture

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/testenv"
	"bellhop/internal/torture/check"
)

// started is the report of a run of which two of three rounds are done.
func started(t *testing.T, opts Options) *Report {
	t.Helper()
	r, err := opts.report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		r.Rounds = append(r.Rounds, Round{Number: n, Events: 10, Faults: map[string]int{faultKill: 20}})
	}
	if err := r.write(opts.reportFile()); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARunContinuesFromItsReport(t *testing.T) {
	var progress bytes.Buffer
	opts := Options{Binary: testenv.Binary(t), Dir: t.TempDir(), Seed: 7, Rounds: 2, Profile: DefaultProfile(), Out: &progress}
	started(t, opts)
	if seed, err := SeedOf(opts.Dir); err != nil || seed != 7 {
		t.Errorf("seed %d, %v", seed, err)
	}
	r, err := Run(t.Context(), opts)
	if err != nil || len(r.Rounds) != 2 || !r.OK() || progress.Len() > 0 {
		t.Errorf("%+v, %v, printed %s", r, err, progress.String())
	}
	opts.Seed = 8
	if _, err := Run(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "is of another run") {
		t.Errorf("another seed: %v", err)
	}
}

// A round that could not be finished keeps its folder, with its observation.
func TestAFailedRoundKeepsItsFolder(t *testing.T) {
	opts := Options{
		Binary: testenv.Binary(t), Dir: t.TempDir(), Seed: 7, Rounds: 1, Profile: DefaultProfile(), Out: &bytes.Buffer{},
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	round, observed := runRound(ctx, opts, 1)
	if round.Error == "" || observed != nil {
		t.Errorf("%+v, %+v", round, observed)
	}
	if _, err := os.Stat(filepath.Join(opts.Dir, "round-1", "observation.json")); err != nil {
		t.Error(err)
	}
}

func TestAReportNamesViolationsAndMissedMutations(t *testing.T) {
	opts := Options{Binary: testenv.Binary(t), Dir: t.TempDir(), Seed: 7, Rounds: 3, Profile: DefaultProfile()}
	for _, c := range []struct {
		damage func(*Report)
		want   string
	}{
		{func(r *Report) {
			r.Rounds[1].Violations = []check.Violation{{Rule: "no event is lost", Session: "s", What: "e"}}
		}, "- no event is lost [s] e"},
		{func(r *Report) { r.Rounds[0].Error = "host-1 does not start" }, "host-1 does not start"},
		{
			func(r *Report) { r.SelfTest = &check.SelfTest{Missed: []string{"loss: a row"}} },
			"The checker missed a mutation: loss: a row",
		},
	} {
		r := started(t, opts)
		if !r.OK() || strings.Contains(r.Markdown(), c.want) {
			t.Errorf("without damage: %s", r.Markdown())
		}
		c.damage(r)
		if r.OK() || !strings.Contains(r.Markdown(), c.want) {
			t.Errorf("want %q in %s", c.want, r.Markdown())
		}
	}
}
