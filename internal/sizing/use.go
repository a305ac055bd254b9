package sizing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/protocol"
)

// Use is what the users of an installation do. A visit is some turns of one task, one after the other.
type Use struct {
	Users      int           `json:"users"`
	Pattern    string        `json:"pattern"`    // of the day: a name of Patterns
	Agent      string        `json:"agent"`      // whose memory a working agent has
	AgentCores float64       `json:"agentCores"` // that a working agent and its programs take of a host
	Active     float64       `json:"active"`     // share of the users on a day
	Visits     float64       `json:"visits"`     // of an active user on a day
	Turns      float64       `json:"turns"`      // of a visit
	Turn       time.Duration `json:"turn"`       // mean length, in nanoseconds
	Think      time.Duration `json:"think"`      // mean pause between the turns of a visit, in nanoseconds
	Events     float64       `json:"events"`     // of a turn
	Batch      float64       `json:"batch"`      // events in one request
	Parts      float64       `json:"parts"`      // of a turn, a second
	PartBytes  float64       `json:"partBytes"`  // on the network
	Readers    float64       `json:"readers"`    // of a turn's stream
	Deliveries float64       `json:"deliveries"` // to users' webhooks, of a turn
	Sessions   float64       `json:"sessions"`   // that a user keeps
}

// Deployment is what an installation has.
type Deployment struct {
	Hosts         int           `json:"hosts"`
	Brokers       int           `json:"brokers"` // replicas
	BrokerCores   int           `json:"brokerCores"`
	DatabaseCores int           `json:"databaseCores"`
	HostCores     int           `json:"hostCores"`
	HostMemory    float64       `json:"hostMemory"`  // bytes
	HostNetwork   float64       `json:"hostNetwork"` // bits a second
	Receiver      time.Duration `json:"receiver"`    // how long users' webhooks take to answer, in nanoseconds
}

// patterns are the shares of a day's visits in its hours, in any unit.
var patterns = map[string][24]float64{
	// One time zone at work: a morning and an afternoon, with a lunch between.
	"office": {1, 1, 1, 1, 1, 1, 2, 5, 20, 45, 60, 55, 30, 40, 60, 58, 45, 25, 12, 8, 6, 4, 2, 1},
	// Users of all time zones.
	"world": {40, 38, 36, 35, 36, 40, 46, 54, 60, 64, 66, 66, 62, 64, 68, 70, 70, 68, 64, 60, 56, 52, 48, 44},
	// Programs that begin tasks at night, such as checks of all repositories.
	"nightly": {60, 100, 80, 40, 10, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 20},
}

// Patterns are the names of the patterns of a day.
func Patterns() []string { return slices.Sorted(maps.Keys(patterns)) }

const (
	maxUsers = 10_000_000
	maxHosts = 100_000
)

// bound is a value with its limits. unit is printed after the limits.
type bound struct {
	flag               string
	value, least, most float64
	unit               string
}

func (u Use) bounds() []bound {
	return []bound{
		{"users", float64(u.Users), 1, maxUsers, ""},
		{"agent-cores", u.AgentCores, 0, 256, ""},
		{"active", u.Active, 0.0001, 1, ""},
		{"visits", u.Visits, 0.01, 1000, " a day"},
		{"turns", u.Turns, 1, 1000, ""},
		{"turn", u.Turn.Seconds(), 1, 86400, " seconds"},
		{"think", u.Think.Seconds(), 1, 86400, " seconds"},
		{"events", u.Events, 1, 10_000, ""},
		{"batch", u.Batch, 1, 100, ""},
		{"parts", u.Parts, 0.1, 1000, " a second"},
		{"part-bytes", u.PartBytes, 50, 1 << 20, " bytes"},
		{"readers", u.Readers, 0, 1000, ""},
		{"deliveries", u.Deliveries, 0, 1000, ""},
		{"sessions", u.Sessions, 0, 100_000, ""},
	}
}

func (d Deployment) bounds() []bound {
	return []bound{
		{"hosts", float64(d.Hosts), 1, maxHosts, ""},
		{"brokers", float64(d.Brokers), 1, 1000, ""},
		{"broker-cores", float64(d.BrokerCores), 1, 256, ""},
		{"database-cores", float64(d.DatabaseCores), 1, 1024, ""},
		{"host-cores", float64(d.HostCores), 1, 1024, ""},
		{"host-memory", d.HostMemory / (1 << 30), 0.25, 65536, " GiB"},
		{"host-network", d.HostNetwork / 1e6, 1, 1e6, " Mbit/s"},
		{"receiver", d.Receiver.Seconds(), 0.001, 60, " seconds"},
	}
}

// check refuses zeros, negative and absurd values, and names that do not exist.
func check(u Use, d Deployment) error {
	for _, b := range append(u.bounds(), d.bounds()...) {
		if !(b.value >= b.least && b.value <= b.most) {
			return protocol.Errorf(protocol.CodeInvalid, "--%s is %v%s; it must be between %v and %v",
				b.flag, number(b.value), b.unit, number(b.least), number(b.most))
		}
	}
	if _, ok := patterns[u.Pattern]; !ok {
		return unknown("pattern", u.Pattern, Patterns())
	}
	if !slices.Contains(Agents(), u.Agent) {
		return unknown("agent", u.Agent, Agents())
	}
	return nil
}

func unknown(flag, value string, known []string) error {
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("--%s is %q, which is unknown", flag, value),
		Hint: "It is one of: " + strings.Join(known, ", ") + ".",
	}
}
