//go:build linux && full

package torture

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/testenv"
)

// The run is cut in the middle of its first round and continues from its directory.
func TestRoundsUnderFaultsLoseAndDoubleNothing(t *testing.T) {
	opts := Options{Rounds: testenv.Rounds(t), Profile: DefaultProfile(), Dir: t.TempDir(), Seed: seed(t)}
	if !testenv.Long() {
		opts.Profile.Kills, opts.Profile.NetworkFaults, opts.Profile.Events = 6, 20, 600
	}
	cutDuringAFault(t, opts)
	report := run(t, opts)
	sum, want := report.total(), Profile{}
	for n := 1; n <= opts.Rounds; n++ {
		p := opts.forRound(n).Profile
		want.Kills, want.Failovers, want.Crashes = want.Kills+p.Kills, want.Failovers+p.Failovers, want.Crashes+p.Crashes
		want.PowerCuts += p.PowerCuts
		want.JournalRestores, want.DatabaseRestores = want.JournalRestores+p.JournalRestores,
			want.DatabaseRestores+p.DatabaseRestores
		want.Events += p.Events
	}
	if report.Rounds[0].Skipped != nil {
		want.PowerCuts = 0 // the report says why
	}
	for kind, n := range map[string]int{
		faultKill: want.Kills, faultPowerCut: want.PowerCuts, faultFailover: want.Failovers, faultCrash: want.Crashes,
		faultRestoreJournal: want.JournalRestores, faultRestoreDatabase: want.DatabaseRestores,
	} {
		if sum.Faults[kind] != n {
			t.Errorf("%s: %d times, want %d", kind, sum.Faults[kind], n)
		}
	}
	if sum.Events < want.Events || sum.LookedUp == 0 { // none is looked up while a fault holds the database
		t.Errorf("%d events, %d receipts, %d of them looked up", sum.Events, sum.Receipts, sum.LookedUp)
	}
	if report.SelfTest == nil || report.SelfTest.Kinds < 20 {
		t.Errorf("self-test: %+v", report.SelfTest)
	}
}

// cutDuringAFault ends a run as soon as it reports a fault.
func cutDuringAFault(t *testing.T, opts Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts.Binary, opts.Out = testenv.Binary(t), onLine{"kill -9", cancel}
	report, err := Run(ctx, opts)
	if !errors.Is(err, context.Canceled) || len(report.Rounds) > 0 {
		t.Fatalf("the cut run: %d rounds, %v", len(report.Rounds), err)
	}
}

// onLine calls do when a line contains a text.
type onLine struct {
	text string
	do   func()
}

func (o onLine) Write(line []byte) (int, error) {
	if strings.Contains(string(line), o.text) {
		o.do()
	}
	return len(line), nil
}

// A clock of a broker or a host is wrong by up to two years, in a turn and at a start. No event is lost, and
// retention removes nothing. Only `make test-long` runs it.
func TestRoundsWithWrongClocksLoseAndPruneNothing(t *testing.T) {
	rounds := testenv.Rounds(t)
	if rounds == 0 {
		t.Log("left to make test-long")
		return
	}
	report := run(t, Options{
		Rounds: rounds, Dir: t.TempDir(), Seed: seed(t),
		Profile: Profile{Clocks: 8, Kills: 2, NetworkFaults: 6, Events: 300, Tasks: 4},
	})
	if n := report.total().Faults[faultClock]; noClocks() == "" && n != 8*rounds {
		t.Errorf("%d wrong clocks, want %d", n, 8*rounds)
	}
}

// All mixtures of this version with the one that landed before it: hosts N−1 under brokers N, the other
// way round, and servers N−1 that are upgraded one after the other. Only `make test-long` runs it.
func TestRoundsWithTheVersionBeforeLoseAndDoubleNothing(t *testing.T) {
	mixtures := testenv.Rounds(t)
	if mixtures == 0 {
		t.Log("left to make test-long")
		return
	}
	report := run(t, Options{
		Rounds: mixtures, Profile: DefaultProfile(), Other: versionBefore(t), Dir: t.TempDir(), Seed: seed(t),
	})
	seen := map[string]int{}
	for _, round := range report.Rounds {
		seen[round.Mix]++
	}
	if seen[string(otherHosts)] != 2 || seen[string(otherBrokers)] != 2 || seen[string(upgraded)] != 1 {
		t.Errorf("mixtures: %v", seen)
	}
}

// versionBefore builds the last version of main that landed before this one: its commit is in
// testdata/version-before, which a release moves on. --other-binary runs any other version.
func versionBefore(t *testing.T) string {
	t.Helper()
	commit := testenv.VersionBefore(t, filepath.Join("..", ".."))
	if commit == "" {
		t.Fatal("there is no version before this one: 0.1.0 is the first\nHint: the first commit after 0.1.0 writes the " +
			"commit of 0.1.0 into internal/torture/testdata/version-before; `bellhop torture --other-binary` mixes any two.")
	}
	folder := filepath.Join(t.TempDir(), "before")
	if out, err := git("worktree", "add", "--detach", folder, commit); err != nil {
		t.Fatalf("git worktree: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := git("worktree", "remove", "--force", folder); err != nil {
			t.Errorf("git worktree: %v\n%s", err, out)
		}
	})
	path, err := testenv.BuildBinary(folder, filepath.Join(t.TempDir(), "bellhop-before"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the version before is %s", commit)
	return path
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
