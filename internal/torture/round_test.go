//go:build linux

package torture

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The rounds of `make test`, and those of `make test-long`.
func rounds() int {
	switch {
	case long:
		return 20
	case testing.Short():
		return 1
	}
	return 2
}

func TestRoundsUnderFaultsLoseAndDoubleNothing(t *testing.T) {
	profile := DefaultProfile()
	report := run(t, Options{Rounds: rounds(), Profile: profile})
	sum := report.total()
	for kind, n := range map[string]int{
		faultKill: profile.Kills, faultFailover: profile.Failovers, faultCrash: profile.Crashes,
		faultRestoreJournal: profile.JournalRestores,
	} {
		if sum.Faults[kind] != n*rounds() {
			t.Errorf("%s: %d times, want %d", kind, sum.Faults[kind], n*rounds())
		}
	}
	if sum.Events < profile.Events || sum.Receipts == 0 {
		t.Errorf("%d events, %d receipts", sum.Events, sum.Receipts)
	}
	if report.SelfTest == nil || report.SelfTest.Kinds < 20 {
		t.Errorf("self-test: %+v", report.SelfTest)
	}
}

// Both mixtures of this version with the commit before it: hosts N−1 under brokers N, and the
// other way round. Only `make test-long` runs it.
func TestRoundsWithTheVersionBeforeLoseAndDoubleNothing(t *testing.T) {
	mixtures := map[bool]int{false: 0, true: 4}[long]
	if mixtures == 0 {
		t.Log("left to make test-long")
		return
	}
	report := run(t, Options{Rounds: mixtures, Profile: DefaultProfile(), Other: versionBefore(t)})
	seen := map[string]int{}
	for _, round := range report.Rounds {
		seen[round.Mix]++
	}
	if seen[string(otherHosts)] != 2 || seen[string(otherBrokers)] != 2 {
		t.Errorf("mixtures: %v", seen)
	}
}

// versionBefore builds the commit before this one. An older version would also show the faults
// that were repaired since: --other-binary runs any.
func versionBefore(t *testing.T) string {
	t.Helper()
	commit, err := git("rev-parse", "HEAD~1")
	if err != nil {
		t.Fatalf("the version before needs the repository with its history: %v", err)
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
	path, err := buildIn(folder, filepath.Join(t.TempDir(), "bellhop-before"))
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
