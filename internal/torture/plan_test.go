//go:build linux

package torture

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestASeedAlwaysMeansTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, profile := rapid.Uint64().Draw(t, "seed"), drawProfile(t)
		if a, b := newPlan(seed, profile), newPlan(seed, profile); !reflect.DeepEqual(a, b) {
			t.Errorf("%v\n%v", a, b)
		}
	})
}

func TestAPlanContainsTheAmountsOfItsProfile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		plan := newPlan(rapid.Uint64().Draw(t, "seed"), p)
		counts := map[string]int{}
		for _, lane := range [][]Fault{plan.Brokers, plan.Hosts, plan.Database} {
			for _, f := range lane {
				counts[f.Kind]++
			}
		}
		for kind, want := range map[string]int{
			faultKill: p.Kills, faultPowerCut: p.PowerCuts, faultCrash: p.Crashes, faultFailover: p.Failovers, faultFullDisk: p.FullDisks, faultClock: p.Clocks,
			faultRestoreJournal: p.JournalRestores, faultBackupJournal: p.JournalRestores,
			faultRestoreDatabase: p.DatabaseRestores, faultBackupDatabase: p.DatabaseRestores,
		} {
			if counts[kind] != want {
				t.Errorf("%s: %d, want %d", kind, counts[kind], want)
			}
		}
		if n := counts[faultFreeze] + counts[faultFreezeDatabase]; n != p.Freezes {
			t.Errorf("freezes: %d, want %d", n, p.Freezes)
		}
		if n := len(plan.Networks[0]) + len(plan.Networks[1]); n != p.NetworkFaults {
			t.Errorf("network faults: %d, want %d", n, p.NetworkFaults)
		}
	})
}

// A restore needs its backup, targets exist, and no two lanes treat the same server or link.
func TestAPlanCanBeExecuted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := newPlan(rapid.Uint64().Draw(t, "seed"), drawProfile(t))
		for lane, faults := range [][]Fault{plan.Brokers, plan.Hosts} {
			backups := map[int]bool{}
			for _, f := range faults {
				if f.Target/2 != lane {
					t.Errorf("lane %d has %v", lane, f)
				}
				if f.Kind == faultRestoreJournal && !backups[f.Target] {
					t.Errorf("%v without a backup", f)
				}
				backups[f.Target] = backups[f.Target] || f.Kind == faultBackupJournal
			}
		}
		for lane, faults := range plan.Networks {
			for _, f := range faults {
				if f.Target%2 != lane || f.Target >= linkCount {
					t.Errorf("lane %d has %v", lane, f)
				}
				if f.Target >= linkCount-2 && slices.Contains(lies(), f.Kind) {
					t.Errorf("a database's proxy cannot do %v", f)
				}
			}
		}
	})
}

func drawProfile(t *rapid.T) Profile {
	few := rapid.IntRange(0, 5)
	return Profile{
		Kills: rapid.IntRange(0, 40).Draw(t, "kills"), Clocks: few.Draw(t, "clocks"), PowerCuts: few.Draw(t, "powerCuts"), Crashes: few.Draw(t, "crashes"), Failovers: few.Draw(t, "failovers"),
		Freezes: few.Draw(t, "freezes"), JournalRestores: few.Draw(t, "journalRestores"),
		DatabaseRestores: few.Draw(t, "databaseRestores"), FullDisks: few.Draw(t, "fullDisks"),
		NetworkFaults: rapid.IntRange(0, 80).Draw(t, "networkFaults"),
	}
}
