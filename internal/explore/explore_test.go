package explore_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/explore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scenarios are what the explorer starts from. Each permits other faults, so that a search
// reaches the places where those meet.
var scenarios = []struct {
	name  string
	start explore.Scenario
	depth int // of "make test"
	long  int // of "make test-long"
}{
	{"the network loses, delays, repeats and lies", explore.Scenario{Limits: explore.Limits{Events: 3, Faults: 3, Pulls: 1}, Saved: true}, 10, 40},
	{"a host restarts", explore.Scenario{Limits: explore.Limits{Events: 2, Faults: 1, Restarts: 1, CheckIns: 1}, Saved: true}, 10, 18},
	{"a journal is restored", explore.Scenario{Limits: explore.Limits{Events: 1, Faults: 1, Pulls: 1, CheckIns: 1, Journals: 1}, Behind: 1, Saved: true}, 10, 18},
	{"a journal without its last receipt is restored", explore.Scenario{Limits: explore.Limits{Events: 1, Faults: 1, CheckIns: 1, Journals: 1}, Behind: 1}, 12, 20},
	{"a journal is restored, and brokers pull", explore.Scenario{Limits: explore.Limits{Pulls: 2, CheckIns: 1, Journals: 1}, Behind: 2, Saved: true}, 12, 24},
	{"the database is restored", explore.Scenario{Limits: explore.Limits{Events: 1, Faults: 1, CheckIns: 1, Database: 1}, Behind: 1, Saved: true}, 10, 16},
	{"the database is restored, and brokers pull", explore.Scenario{Limits: explore.Limits{Events: 1, Pulls: 1, Database: 1}, Behind: 1, Saved: true}, 12, 20},
	{"both sides are restored", explore.Scenario{Limits: explore.Limits{Faults: 1, CheckIns: 1, Journals: 1, Database: 1}, Behind: 1, Saved: true}, 10, 16},
	{"a program has the webhook token", explore.Scenario{Limits: explore.Limits{Events: 2, Faults: 1, Pulls: 1, CheckIns: 1, Forged: 2}, Saved: true}, 9, 16},
	{"the task moves", explore.Scenario{Limits: explore.Limits{Events: 2, Faults: 1, Pulls: 1, CheckIns: 2, Moves: 2}, Behind: 1, Saved: true}, 9, 18},
}

// Most Worlds of a scenario. The search stops there, which the log says.
const (
	mostStates     = 60_000
	mostStatesLong = 600_000
)

func isLong() bool { return os.Getenv("BELLHOP_LONG") != "" }

func TestExploreEveryOrderOfFaults(t *testing.T) {
	states, transitions := 0, 0
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			depth, most := c.depth, mostStates
			if isLong() {
				depth, most = c.long, mostStatesLong
			}
			began := time.Now()
			r := explore.Search(explore.Start(explore.Rules{}, c.start), depth, most)
			t.Logf("%s, %d settled, complete %t, %v", r, r.Settled, r.Complete, time.Since(began).Round(time.Millisecond))
			if r.Violation != "" {
				t.Error("a sentence of docs/reliability.md does not hold")
			}
			states, transitions = states+r.States, transitions+r.Transitions
		})
	}
	t.Logf("%d states, %d transitions", states, transitions)
}

// Each fix is turned off once. The search must find the violation that the fix prevents.
func TestExploreFindsWhatEachFixPrevents(t *testing.T) {
	for _, c := range []struct {
		fix   string
		rules explore.Rules
		start explore.Scenario
		want  string
	}{
		{"B1: a receipt counts for the events of its request only", explore.Rules{AnyCursor: true}, explore.Scenario{Limits: explore.Limits{Journals: 1}, Behind: 2}, "6 PROC-7"},
		{"B2: only the broker's own answer is a receipt", explore.Rules{AnySuccess: true}, explore.Scenario{Limits: explore.Limits{Events: 2, Faults: 1}, Saved: true}, "6 PROC-7"},
		{"a host rewinds after a restore of the database", explore.Rules{NoRewind: true}, explore.Scenario{Limits: explore.Limits{Database: 1}, Behind: 1, Saved: true}, "6 PROC-7"},
		{"a pull gets no event before those that it lacks", explore.Rules{NoWithholding: true}, explore.Scenario{Limits: explore.Limits{Pulls: 1, Journals: 1}, Behind: 1, Saved: true}, "order is kept"},
		{"pulled events keep their ids at new positions", explore.Rules{NoWithholding: true, NoMoves: true}, explore.Scenario{Limits: explore.Limits{Pulls: 1, Journals: 1}, Behind: 1, Saved: true}, ""},
		{"a known event moves with its host", explore.Rules{NoMoves: true}, explore.Scenario{Limits: explore.Limits{Faults: 1, Journals: 1, Database: 1}, Behind: 1, Saved: true}, "1 IN-11"},
		{"an epoch is accepted after the host confirmed it", explore.Rules{AnyEpoch: true}, explore.Scenario{Limits: explore.Limits{Forged: 1}}, "2 AUTH-11"},
		{"an answer names the incarnation of its data", explore.Rules{LateLabel: true}, explore.Scenario{Limits: explore.Limits{CheckIns: 1, Database: 1}, Behind: 1, Saved: true}, "6 PROC-7"},
	} {
		t.Run(c.fix, func(t *testing.T) {
			r := explore.Search(explore.Start(c.rules, c.start), 30, mostStates)
			t.Log(r)
			if r.Violation == "" || !strings.Contains(r.Violation, c.want) {
				t.Errorf("want a violation of %q: a search that does not find it finds nothing", c.want)
			}
			if full := explore.Search(explore.Start(explore.Rules{}, c.start), len(r.Trace), mostStates); full.Violation != "" {
				t.Errorf("the same with all fixes: %s", full)
			}
		})
	}
}
