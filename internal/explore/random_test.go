package explore_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/internal/explore"
	"bellhop/internal/testenv"
)

// Beyond the depth of a search, long random schedules keep the same sentences.
func TestExploreRandomSchedules(t *testing.T) {
	longest := 120
	if testenv.Long() {
		longest = 600
	}
	testenv.RapidDraws(t, testenv.Rounds(t))
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.SampledFrom([]limits{
			{}, {Journals: 1}, {Database: 2}, {Journals: 1, Database: 1}, {Moves: 3}, {Forged: 4},
		}).Draw(rt, "rare")
		most.Events, most.Faults, most.Pulls, most.CheckIns, most.Restarts = 12, 8, 8, 4, 3
		w := explore.Start(rules{}, scenario{
			Limits: most, Behind: rapid.IntRange(0, 4).Draw(rt, "behind"), Saved: rapid.Bool().Draw(rt, "saved"),
		})
		var trace []string
		for range rapid.IntRange(1, longest).Draw(rt, "steps") {
			list := w.Actions()
			if len(list) == 0 {
				break
			}
			action := rapid.SampledFrom(list).Draw(rt, "action")
			trace = append(trace, action.Name())
			w = action.Do(w)
			if problem := w.Violation(); problem != "" {
				rt.Fatalf("%s\n%s", problem, strings.Join(trace, "\n"))
			}
		}
		if problem := w.Settle(); problem != "" {
			rt.Fatalf("%s\n%s", problem, strings.Join(trace, "\n"))
		}
	})
}
