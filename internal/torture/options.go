//go:build linux

package torture

import (
	"io"
	"path/filepath"
)

// Options of a run.
type Options struct {
	Binary string // this program
	Other  string // another version of it; "" = none
	Dir    string // the run's state: report.json, logs of failed rounds
	Seed   uint64
	Rounds int
	Only   int // the one round to run, counted from 1; 0 = all

	Profile Profile
	Out     io.Writer // progress, one line at a time

	Mutant string // of the program with fail points, "" = none

	mix         mix
	noPowerCuts string // why there are none, "" if there are
}

// mix says which servers of a round run the other version.
type mix string

const (
	sameVersion  mix = "all of one version"
	otherHosts   mix = "hosts of the other version"
	otherBrokers mix = "brokers of the other version"
	upgraded     mix = "servers of the other version, upgraded when they restart"
)

func (o Options) brokerBinary() string {
	if o.mix == otherBrokers || o.mix == upgraded {
		return o.Other
	}
	return o.Binary
}

func (o Options) hostBinary() string {
	if o.mix == otherHosts || o.mix == upgraded {
		return o.Other
	}
	return o.Binary
}

// restartBinary is the program that servers restart with; "" = the one that they began with.
func (o Options) restartBinary() string {
	if o.mix == upgraded {
		return o.Binary
	}
	return ""
}

// forRound chooses the versions of a round: with another binary the mixtures take turns. A round
// restores one side only, because an event that both sides have lost is nowhere. In an upgrade that
// is the hosts': a restored database would lack migrations of the brokers that run on it.
func (o Options) forRound(n int) Options {
	o.mix = sameVersion
	if o.noPowerCuts != "" {
		o.Profile.PowerCuts = 0
	}
	if o.Other != "" {
		o.mix = []mix{otherHosts, otherBrokers, otherBrokers, otherHosts, upgraded}[(n-1)%5]
	}
	if o.mix == upgraded {
		o.Profile.JournalRestores, o.Profile.DatabaseRestores = o.Profile.JournalRestores+o.Profile.DatabaseRestores, 0
	} else if o.Profile.JournalRestores > 0 && o.Profile.DatabaseRestores > 0 {
		if n%2 == 1 {
			o.Profile.JournalRestores, o.Profile.DatabaseRestores = 2*o.Profile.JournalRestores, 0
		} else {
			o.Profile.JournalRestores, o.Profile.DatabaseRestores = 0, 2*o.Profile.DatabaseRestores
		}
	}
	return o
}

func (o Options) reportFile() string { return filepath.Join(o.Dir, "report.json") }

// Profile is what a round contains.
type Profile struct {
	Kills            int `json:"kills"`     // of brokers and hosts, with SIGKILL
	PowerCuts        int `json:"powerCuts"` // of hosts
	Crashes          int `json:"crashes"`   // of the primary database, with SIGKILL
	Failovers        int `json:"failovers"`
	Freezes          int `json:"freezes"`
	JournalRestores  int `json:"journalRestores"`
	DatabaseRestores int `json:"databaseRestores"`
	FullDisks        int `json:"fullDisks"`
	Clocks           int `json:"clocks"`        // that are wrong for a while, of one server
	NetworkFaults    int `json:"networkFaults"` // lies of gateways and broken connections
	Events           int `json:"events"`        // at least
	Tasks            int `json:"tasks"`
}

// DefaultProfile is a fiftieth of the proof: 50 rounds of it are 1,000 kills and 100,000 events.
func DefaultProfile() Profile {
	return Profile{
		Kills: 20, PowerCuts: 2, Crashes: 1, Failovers: 1, Freezes: 3, JournalRestores: 1, DatabaseRestores: 1,
		FullDisks: 1, NetworkFaults: 60, Events: 2000, Tasks: 8,
	}
}
