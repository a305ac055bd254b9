package explore_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/explore"
	"bellhop/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	limits   = explore.Limits
	scenario = explore.Scenario
	rules    = explore.Rules
)

// end says how far the long search of a scenario comes.
type end int

const (
	atDepth end = iota // all worlds of the depth
	before             // it stops at mostStatesLong
	never              // no deeper world exists
)

// scenarios are what the explorer starts from. Each permits other faults, so that a search
// reaches the places where those meet.
var scenarios = []struct {
	name  string
	start scenario
	depth int // of "make test"
	long  int // of "make test-long"
	ends  end
}{
	{
		"the network loses, delays, repeats and lies",
		scenario{Limits: limits{Events: 3, Faults: 3, Pulls: 1}, Saved: true},
		10, 40, never,
	},
	{
		"a host restarts",
		scenario{Limits: limits{Events: 2, Faults: 1, Restarts: 1, CheckIns: 1}, Saved: true},
		10, 18, atDepth,
	},
	{
		"a journal is restored",
		scenario{Limits: limits{Events: 1, Faults: 1, Pulls: 1, CheckIns: 1, Journals: 1}, Behind: 1, Saved: true},
		10, 18, atDepth,
	},
	{
		"a journal without its last receipt is restored",
		scenario{Limits: limits{Events: 1, Faults: 1, CheckIns: 1, Journals: 1}, Behind: 1},
		12, 20, atDepth,
	},
	{
		"a journal is restored, and brokers pull",
		scenario{Limits: limits{Pulls: 2, CheckIns: 1, Journals: 1}, Behind: 2, Saved: true},
		12, 24, never,
	},
	{
		"the database is restored",
		scenario{Limits: limits{Events: 1, Faults: 1, CheckIns: 1, Database: 1}, Behind: 1, Saved: true},
		10, 16, atDepth,
	},
	{
		"the database is restored, and brokers pull",
		scenario{Limits: limits{Events: 1, Pulls: 1, Database: 1}, Behind: 1, Saved: true},
		12, 20, atDepth,
	},
	{
		"both sides are restored",
		scenario{Limits: limits{Faults: 1, CheckIns: 1, Journals: 1, Database: 1}, Behind: 1, Saved: true},
		10, 16, atDepth,
	},
	{
		"a program has the webhook token",
		scenario{Limits: limits{Events: 2, Faults: 1, Pulls: 1, CheckIns: 1, Forged: 2}, Saved: true},
		9, 16, atDepth,
	},
	{
		"the task moves",
		scenario{Limits: limits{Events: 2, Faults: 1, Pulls: 1, CheckIns: 2, Moves: 2}, Behind: 1, Saved: true},
		9, 18, before,
	},
	{
		"check-ins come in another order",
		scenario{Limits: limits{Faults: 1, CheckIns: 2, Restarts: 1, Database: 1}, Saved: true},
		9, 20, never,
	},
}

// Most Worlds of a scenario. The search stops there, which the log says.
const (
	mostStates     = 60_000
	mostStatesLong = 600_000
)

func TestExploreEveryOrderOfFaults(t *testing.T) {
	states, transitions := 0, 0
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			depth, most := c.depth, mostStates
			if testenv.Long() {
				depth, most = c.long, mostStatesLong
			}
			began := time.Now()
			r := explore.Search(explore.Start(rules{}, c.start), depth, most)
			t.Logf("%s, %d settled, complete %t, %v", r, r.Settled, r.Complete, time.Since(began).Round(time.Millisecond))
			if r.Violation != "" {
				t.Error("an invariant does not hold")
			}
			if testenv.Long() && ended(r, depth) != c.ends {
				t.Errorf("the search ended %d, want %d: change the row of its scenario", ended(r, depth), c.ends)
			}
			states, transitions = states+r.States, transitions+r.Transitions
		})
	}
	t.Logf("%d states, %d transitions", states, transitions)
}

func ended(r *explore.Result, depth int) end {
	switch {
	case !r.Complete:
		return before
	case r.Depth < depth:
		return never
	}
	return atDepth
}

// Each fix is turned off once. The search must find the violation that the fix prevents.
func TestExploreFindsWhatEachFixPrevents(t *testing.T) {
	for _, c := range []struct {
		fix   string
		rules rules
		start scenario
		want  string
	}{
		{
			"B1: a receipt counts for the events of its request only",
			rules{AnyCursor: true},
			scenario{Limits: limits{Journals: 1}, Behind: 2},
			"6 PROC-7",
		},
		{
			"B2: only the broker's own answer is a receipt",
			rules{AnySuccess: true},
			scenario{Limits: limits{Events: 2, Faults: 1}, Saved: true},
			"6 PROC-7",
		},
		{
			"a host rewinds after a restore of the database",
			rules{NoRewind: true},
			scenario{Limits: limits{Database: 1}, Behind: 1, Saved: true},
			"6 PROC-7",
		},
		{
			"a pull gets no event before those that it lacks",
			rules{NoWithholding: true},
			scenario{Limits: limits{Pulls: 1, Journals: 1}, Behind: 1, Saved: true},
			"order is kept",
		},
		{
			"pulled events keep their ids at new positions",
			rules{NoWithholding: true, NoMoves: true},
			scenario{Limits: limits{Pulls: 1, Journals: 1}, Behind: 1, Saved: true},
			"order is kept",
		},
		{
			"a known event moves with its host",
			rules{NoMoves: true},
			scenario{Limits: limits{Faults: 1, Journals: 1, Database: 1}, Behind: 1, Saved: true},
			"1 IN-11",
		},
		{
			"an epoch is accepted after the host confirmed it",
			rules{AnyEpoch: true},
			scenario{Limits: limits{Forged: 1}},
			"2 AUTH-11",
		},
		{
			"an answer names the incarnation of its data",
			rules{LateLabel: true},
			scenario{Limits: limits{CheckIns: 1, Database: 1}, Behind: 1, Saved: true},
			"6 PROC-7",
		},
		{
			"a check-in that comes late has no effect",
			rules{AnyOrder: true},
			scenario{Limits: limits{CheckIns: 2}, Saved: true},
			"late check-in",
		},
	} {
		t.Run(c.fix, func(t *testing.T) {
			r := explore.Search(explore.Start(c.rules, c.start), 30, mostStates)
			t.Log(r)
			if r.Violation == "" || !strings.Contains(r.Violation, c.want) {
				t.Errorf("want a violation of %q: a search that does not find it finds nothing", c.want)
			}
			if full := explore.Search(explore.Start(rules{}, c.start), len(r.Trace), mostStates); full.Violation != "" {
				t.Errorf("the same with all fixes: %s", full)
			}
		})
	}
}
