//go:build linux && full

package torture

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"bellhop/internal/testenv"
)

// mutants returns the promises that a program with fail points can break.
func mutants(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "grep", "-hoP", `Mutated(Once)?\("\K[a-z-]+`, "--",
		"*.go", ":!*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Compact(slices.Sorted(slices.Values(strings.Fields(string(out)))))
}

// Each mutant breaks one promise of the code. One that passes all of its rounds is a promise that the
// torture does not check. Only `make test-long` runs it.
func TestEveryMutantIsCaught(t *testing.T) {
	rounds := testenv.Rounds(t)
	if rounds == 0 {
		t.Log("left to make test-long")
		return
	}
	first := seed(t)
	for _, name := range mutants(t) {
		t.Run(name, func(t *testing.T) {
			opts := Options{
				Binary: testenv.Binary(t), Mutant: name, Dir: t.TempDir(), Seed: first, Profile: DefaultProfile(),
			}
			opts.Profile.Kills, opts.Profile.NetworkFaults, opts.Profile.Events, opts.Profile.PowerCuts = 6, 20, 600, 4
			for opts.Rounds = 1; opts.Rounds <= rounds; opts.Rounds++ {
				var progress bytes.Buffer
				opts.Out = &progress
				report, err := Run(t.Context(), opts)
				if err != nil {
					t.Fatal(err)
				}
				if why := report.Rounds[opts.Rounds-1].caught(); why != "" {
					t.Logf("caught in round %d: %s", opts.Rounds, why)
					return
				}
			}
			t.Errorf("BELLHOP_SEED=%d: not caught in %d rounds", first, rounds)
		})
	}
}

// caught returns what a round found, "" if it found nothing. A round that could not be finished has found nothing:
// that may have other reasons.
func (r *Round) caught() string {
	if len(r.Violations) > 0 {
		return r.Violations[0].String()
	}
	return ""
}
