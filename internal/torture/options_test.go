//go:build linux

package torture

import "testing"

// In any five rounds both sides are restored, never in the same round, under both mixtures of
// versions, and servers are upgraded in one round.
func TestRoundsRestoreOneSideAndMixBothWays(t *testing.T) {
	p := DefaultProfile()
	journals, databases := 0, 0
	kinds := map[mix]map[bool]bool{otherHosts: {}, otherBrokers: {}}
	for n := 1; n <= 5; n++ {
		o := Options{Profile: p, Other: "other", Binary: "this"}.forRound(n)
		if o.mix == upgraded {
			if o.brokerBinary() != "other" || o.hostBinary() != "other" || o.restartBinary() != "this" ||
				o.Profile.JournalRestores != 2 || o.Profile.DatabaseRestores != 0 {
				t.Errorf("an upgrade begins with %s, continues with %s: %+v", o.brokerBinary(), o.restartBinary(), o.Profile)
			}
			continue
		}
		if o.Profile.JournalRestores > 0 && o.Profile.DatabaseRestores > 0 {
			t.Errorf("round %d restores both sides", n)
		}
		journals += o.Profile.JournalRestores
		databases += o.Profile.DatabaseRestores
		kinds[o.mix][o.Profile.DatabaseRestores > 0] = true
	}
	if journals != 4 || databases != 4 {
		t.Errorf("%d and %d restores, want 4 of each", journals, databases)
	}
	for mix, sides := range kinds {
		if len(sides) != 2 {
			t.Errorf("%s: sides %v", mix, sides)
		}
	}
	if o := (Options{Profile: p, Binary: "this"}).forRound(5); o.mix != sameVersion || o.restartBinary() != "" {
		t.Errorf("without another binary: %s", o.mix)
	}
}

// The amounts that issue and documents name, over all rounds of the default.
func TestFiftyRoundsAreTheProof(t *testing.T) {
	sum := Profile{}
	for n := 1; n <= 50; n++ {
		p := Options{Profile: DefaultProfile()}.forRound(n).Profile
		sum.Kills, sum.Events, sum.Failovers = sum.Kills+p.Kills, sum.Events+p.Events, sum.Failovers+p.Failovers
		sum.JournalRestores, sum.DatabaseRestores = sum.JournalRestores+p.JournalRestores,
			sum.DatabaseRestores+p.DatabaseRestores
		sum.FullDisks, sum.PowerCuts = sum.FullDisks+p.FullDisks, sum.PowerCuts+p.PowerCuts
	}
	want := Profile{Kills: 1000, PowerCuts: 100, Events: 100_000, Failovers: 50, JournalRestores: 50, DatabaseRestores: 50, FullDisks: 50}
	if sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
}
