package testenv

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// randomTest is a test that repeats something at random.
type randomTest struct {
	name  string
	short int    // rounds of "make test" and "make check"
	long  int    // rounds of its part of "make test-long"
	seed  string // what a seed repeats
}

// randomTests lists every test with rounds that are worth counting. Tests of rapid in packages that use Main take
// rapidShort instead of its 100.
var randomTests = []randomTest{
	{"TestWritesSurviveAPowerCut", 15, 150, "constant: which blocks a cut loses; the moment of a cut is never repeated"},
	{"TestAJournalWithoutSyncsLosesEventsInAPowerCut", 150, 150, "the same; the test ends at the first loss"},
	{"TestWhatIngestAcknowledgedSurvivesAPowerCut", 6, 60, "constant: which blocks a cut loses"},
	{"TestWhatIngestAcknowledgedSurvivesAPowerCut/synchronous_OFF", 60, 60, "the same; the test ends at the first loss"},
	{"TestACommitOnSQLiteSurvivesAPowerCut", 10, 100, "constant: which blocks a cut loses"},
	{"TestACommitOnSQLiteSurvivesAPowerCut/OFF", 100, 100, "the same; the test ends at the first loss"},
	{"TestEveryMutationIsCaught", 3, 20, "the number of the round: where the history is damaged"},
	{"TestEveryMutationIsCaughtAfterARestore", 4, 40, "the number of the round: where the history is damaged"},
	{"TestRandomCutsLoseNothing", 3, 30, "printed: where connections end"},
	{"TestExploreRandomSchedules", 100, 20_000, "that of rapid, printed by a failure: the whole schedule"},
	{"TestRoundsUnderFaultsLoseAndDoubleNothing", 3, 20, "BELLHOP_SEED: the faults and their moments, not what the servers do meanwhile"},
	{"TestRoundsWithTheVersionBeforeLoseAndDoubleNothing", 0, 5, "BELLHOP_SEED: the same, and the mixture of versions"},
	{"TestRoundsWithWrongClocksLoseAndPruneNothing", 0, 50, "BELLHOP_SEED: the faults and their moments"},
	{"TestEveryMutantIsCaught", 0, 3, "BELLHOP_SEED: the faults of a mutant's first round"},
	{"TestNoAnswerOfSomethingElseIsBelieved", 5, 50, "none: the statuses of the lies are fixed"},
	{"TestLiesOnEveryEdgeLoseAndDoubleNothing", 1, 10, "BELLHOP_SEED: what users do"},
	{"TestRacedDiffsCommitsAndDiscardsStayInside", 10, 1000, "none: two programs race"},
	{"TestFilesAreShownWhileNamesAreExchanged", 5, 200, "none: two programs race"},
	{"TestAMirrorOfARacedRepositoryStaysInside", 20, 500, "none: two programs race"},
	{"TestTheDirectoryOfTemporaryFilesLeadsNowhere", 20, 400, "none: two programs race"},
	{"TestSnapshotsOfARacedTree", 4, 200, "none: two programs race"},
	{"TestTreesEqualThoseOfGit", 9, 100, "none: the trees are listed"},
	{"TestNoContentIsLostWithAWorkspace", 8, 500, "the number of the round: what is done in the workspace"},
	{"TestCrashOfTheDatabaseLosesAndDuplicatesNothing", 3, 30, "none: the moments are fixed"},
	{"TestCrashOfOneOfTwoReplicasLosesAndDuplicatesNothing", 4, 60, "BELLHOP_SEED: kills and cut connections"},
}

// rapidShort is the number of draws of a test of rapid, at least.
const rapidShort = "10"

// Rounds returns how often a test of randomTests, or a subtest of one, repeats its round: the long number if
// BELLHOP_LONG is set.
func Rounds(t testing.TB) int {
	t.Helper()
	root, _, _ := strings.Cut(t.Name(), "/")
	for _, name := range []string{t.Name(), root} {
		at := slices.IndexFunc(randomTests, func(r randomTest) bool { return r.name == name })
		switch {
		case at < 0:
			continue
		case Long():
			return randomTests[at].long
		}
		return randomTests[at].short
	}
	t.Fatalf("%s is not in the list of randomTests", root)
	return 0
}

// Long reports whether tests run at full length: "make test-long" sets BELLHOP_LONG.
func Long() bool { return os.Getenv("BELLHOP_LONG") != "" }

// fewerDraws changes the default of rapid's flag, if this test binary has it. The command line still has the last word.
func fewerDraws() error {
	if draws := flag.Lookup("rapid.checks"); draws != nil && !Long() {
		return draws.Value.Set(rapidShort)
	}
	return nil
}

// RapidDraws sets the number of draws of the tests of rapid that run after it.
func RapidDraws(t testing.TB, draws int) {
	t.Helper()
	Must(t, flag.Set("rapid.checks", strconv.Itoa(draws)))
}
