package sizing

import (
	"context"
	"errors"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/internal/queueing"
	"bellhop/protocol"
)

// office is an installation of some thousand users with the flags' defaults.
func office(t *testing.T) Options {
	t.Helper()
	figures, err := Published()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Use: Use{
			Users: 2000, Pattern: "office", Agent: "claude", AgentCores: 0.5, Active: 0.3, Visits: 3, Turns: 4,
			Turn: 3 * time.Minute, Think: 2 * time.Minute, Events: 20, Batch: 1, Parts: 10, PartBytes: 300,
			Readers: 1.2, Deliveries: 0.5, Sessions: 20,
		},
		Deployment: Deployment{
			Hosts: 40, Brokers: 1, BrokerCores: 1, DatabaseCores: 2, HostCores: 8, HostMemory: 32 << 30,
			HostNetwork: 1e9, Receiver: 50 * time.Millisecond,
		},
		Figures: figures, Seed: 1, Jobs: maxJobs,
	}
}

// slower makes every measured time and every core of streams so many times as long, so that a few users
// fill the stations as many would.
func (o Options) slower(factor float64) Options {
	values := maps.Clone(o.Figures.Values)
	for name := range values {
		if !strings.Contains(name, "memory") && name != "stream.parts" && name != "machine.cores" {
			values[name] *= factor
		}
	}
	o.Figures.Values = values
	return o
}

func run(t *testing.T, o Options) *Report {
	t.Helper()
	r, err := Simulate(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v ± %v %%", what, got, want, 100*tolerance)
	}
}

// What comes in a day follows from the use: users × active × visits × turns × events.
func TestTheEventsOfADayAreThoseOfTheUse(t *testing.T) {
	for _, pattern := range Patterns() {
		o := office(t)
		o.Use.Pattern, o.Use.Users = pattern, 2000
		near(t, "events a day, "+pattern, run(t, o).EventsADay, 2000*0.3*3*4*20, 0.06)
	}
}

// Open turns by Little's law: turns a second × their length.
func TestOpenTurnsObeyLittlesLaw(t *testing.T) {
	o := office(t)
	o.Use.Pattern, o.Use.Users = "world", 4000
	r := run(t, o)
	near(t, "open turns", r.Busiest.OpenTurns, r.Busiest.Turns*o.Use.Turn.Seconds(), 0.1)
}

// Loads follow from the costs: events a second × the broker's time of one, and so on.
func TestLoadsAreRatesTimesCosts(t *testing.T) {
	o := office(t)
	o.Use.Users, o.Use.Deliveries = 4000, 0
	r := run(t, o)
	v, peak := o.Figures.Values, r.Busiest
	checkIn := (v["check-in.time"] - v["check-in.host-time"]) * v["machine.cores"] / callers
	checkIn *= v["broker.event"] / (v["broker.event"] + v["postgres.event"])
	near(t, "the broker's load", r.station(brokerCPU).Load, peak.Requests*v["broker.event"]+peak.Turns*checkIn, 0.06)
	part := v["stream.host-cores"] / v["stream.parts"]
	agents := peak.OpenTurns * (0.5 + 1.2*10*part)
	near(t, "the hosts' load", r.station(hostCPU).Load, agents/(40*8), 0.06)
	if got := r.station(outboundOut).Load; got != 0 {
		t.Errorf("without deliveries the load of outbound requests is %v", got)
	}
	if got := r.station(outboundOut).SaturatesAt; got != 0 {
		t.Errorf("without deliveries outbound requests saturate at %v users", got)
	}
}

// The waits at the broker are those of an M/M/1 with its load, though the arrivals come from turns.
func TestTheBrokersWaitsAreThoseOfTheClosedForm(t *testing.T) {
	o := office(t).slower(200)
	o.Use.Users, o.Use.Pattern, o.Use.Deliveries, o.Use.Events = 2000, "world", 0, 100
	o.Deployment.DatabaseCores = 64
	o.Figures.Values["check-in.time"] = o.Figures.Values["check-in.host-time"] + 1e-6
	r := run(t, o)
	s := r.station(brokerCPU)
	if s.Load < 0.3 || s.Load > 0.9 {
		t.Fatalf("the load is %v: the test needs some", s.Load)
	}
	service := o.Figures.Values["broker.event"]
	near(t, "the wait at p99", s.Wait.P99, math.Log(s.Load/0.01)*service/(1-s.Load), 0.2)
}

// At sizes where both run, a sample of a fifth has the loads and waits of all users.
func TestASampleHasTheLoadsAndWaitsOfAllUsers(t *testing.T) {
	all := office(t).slower(200)
	all.Use.Users, all.Deployment.Hosts = 8000, 160
	sample := all
	sample.Jobs = 160_000
	a, s := run(t, all), run(t, sample)
	if a.Sample.OneIn != 1 || a.Sample.Hosts != 160 || s.Sample.OneIn != 5 || s.Sample.Hosts != 32 {
		t.Fatalf("samples %+v and %+v", a.Sample, s.Sample)
	}
	near(t, "events a day", s.EventsADay, a.EventsADay, 0.05)
	near(t, "open turns", s.Busiest.OpenTurns, a.Busiest.OpenTurns, 0.1)
	for i, want := range a.Stations {
		near(t, "the load of "+want.Name, s.Stations[i].Load, want.Load, 0.12)
	}
	for _, name := range []string{brokerCPU, databaseCPU} {
		if load := a.station(name).Load; load < 0.3 {
			t.Errorf("the load of %s is %v: the test needs some", name, load)
		}
		near(t, "the wait for "+name, s.station(name).Wait.P99, a.station(name).Wait.P99, 0.35)
	}
	near(t, "check-ins at p50", s.Busiest.CheckIn.P50, a.Busiest.CheckIn.P50, 0.15)
	if a.Bottleneck != s.Bottleneck {
		t.Errorf("the bottleneck is %s of all, %s of the sample", a.Bottleneck, s.Bottleneck)
	}
}

// With fewer hosts than one for a sample, a simulated host stands for more users than it has.
func TestASampleOfFewHostsHasTheLoadsOfAll(t *testing.T) {
	all := office(t)
	all.Use.Users, all.Deployment.Hosts, all.Deployment.HostCores = 6000, 3, 256
	sample := all
	sample.Jobs = 100_000
	a, s := run(t, all), run(t, sample)
	if s.Sample.Hosts != 1 || s.Sample.UsersOfAHost <= 1 {
		t.Fatalf("sample %+v", s.Sample)
	}
	for _, name := range []string{hostCPU, hostMemory} {
		near(t, "the load of "+name, s.station(name).Load, a.station(name).Load, 0.15)
	}
}

// Four times as many users have four times the mean, and twice the deviation from it.
func TestTheDeviationOfManyUsersGrowsWithTheRoot(t *testing.T) {
	sim := &queueing.Simulation{}
	gauge := &queueing.Gauge{Sim: sim, Width: hour}
	for i := range 100 {
		level := gauge.Level()
		if level.Move(10); i >= 98 {
			level.Move(10)
		}
	}
	sim.Run(hour)
	m := &model{hostFactor: 4}
	near(t, "programs of a host", m.most(gauge, 0), 4*10.2+2*(20-10.2), 1e-9)
}

// The size at which the bottleneck saturates holds when it is simulated: below it waits are short, above it
// they grow for hours.
func TestTheBottleneckSaturatesAtTheReportedSize(t *testing.T) {
	o := office(t).slower(400)
	o.Deployment.Hosts = 400
	r := run(t, o)
	if r.Bottleneck != brokerCPU || r.station(brokerCPU).Load > 0.7 {
		t.Fatalf("the bottleneck is %s, with %v", r.Bottleneck, r.station(brokerCPU).Load)
	}
	limit := r.station(brokerCPU).SaturatesAt
	at := func(share float64) float64 {
		o.Use.Users = int(limit * share)
		return run(t, o).Busiest.Stored.P50
	}
	if wait := at(0.7); wait > 1 {
		t.Errorf("at 70 %% of the size an event takes %v s", wait)
	}
	if wait := at(1.3); wait < 30 {
		t.Errorf("at 130 %% of the size an event takes only %v s", wait)
	}
}

// The deployment that a report asks for has the load that it aims at, at most.
func TestTheNeededDeploymentSuffices(t *testing.T) {
	o := office(t)
	o.Use.Users, o.Deployment.Hosts, o.Jobs = 3_000_000, 1000, 200_000
	first := run(t, o)
	if first.station(brokerCPU).Load < 1 || first.station(hostMemory).Load < 1 {
		t.Fatalf("the first deployment suffices: %+v", first.Stations)
	}
	o.Deployment.Brokers, o.Deployment.DatabaseCores = first.Need.Brokers, first.Need.DatabaseCores
	o.Deployment.Hosts = first.Need.Hosts
	for _, s := range run(t, o).Stations {
		if s.Load > 1.12*first.Need.Target {
			t.Errorf("the load of %s is %v", s.Name, s.Load)
		}
	}
}

func TestAHundredThousandHostsAndTenMillionUsersAreSimulated(t *testing.T) {
	o := office(t).slower(4)
	o.Use.Users, o.Deployment.Hosts, o.Jobs = maxUsers, maxHosts, 400_000
	o.Use.Events = 100
	r := run(t, o)
	near(t, "events a day", r.EventsADay, maxUsers*0.3*3*4*100, 0.12)
	if r.Need.Installations < 2 || r.Bottleneck != brokerCPU {
		t.Errorf("bottleneck %s, need %+v", r.Bottleneck, r.Need)
	}
}

func TestTheSameSeedGivesTheSameReport(t *testing.T) {
	o := office(t)
	o.Jobs = 20_000
	if a, b := run(t, o), run(t, o); !reflect.DeepEqual(a, b) {
		t.Errorf("reports differ:\n%+v\n%+v", a, b)
	}
	a := run(t, o)
	o.Seed = 2
	if b := run(t, o); a.EventsADay == b.EventsADay {
		t.Error("another seed gives the same day")
	}
}

func TestASimulationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Simulate(ctx, office(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestBadInputIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no users", func(o *Options) { o.Use.Users = 0 }, "--users is 0; it must be between 1 and 10,000,000"},
		{"negative users", func(o *Options) { o.Use.Users = -5 }, "--users is -5; it must be between 1 and 10,000,000"},
		{"too many users", func(o *Options) { o.Use.Users = 10_000_001 }, "--users is 10,000,001; it must be"},
		{"no hosts", func(o *Options) { o.Deployment.Hosts = 0 }, "--hosts is 0; it must be between 1 and 100,000"},
		{"too many hosts", func(o *Options) { o.Deployment.Hosts = 1e6 }, "--hosts is 1,000,000; it must be"},
		{"more active users than users", func(o *Options) { o.Use.Active = 1.5 }, "--active is 1.5; it must be"},
		{"not a number", func(o *Options) { o.Use.Events = math.NaN() }, "--events is NaN; it must be"},
		{"infinite", func(o *Options) { o.Use.Visits = math.Inf(1) }, "--visits is +Inf a day; it must be"},
		{"a turn without length", func(o *Options) { o.Use.Turn = 0 }, "--turn is 0 seconds; it must be"},
		{"a turn of a week", func(o *Options) { o.Use.Turn = 168 * time.Hour }, "--turn is 604,800 seconds; it must be"},
		{"no replica", func(o *Options) { o.Deployment.Brokers = 0 }, "--brokers is 0; it must be"},
		{"no memory", func(o *Options) { o.Deployment.HostMemory = 0 }, "--host-memory is 0 GiB; it must be"},
		{"too small a sample", func(o *Options) { o.Jobs = 10 }, "--jobs is 10; it must be between 1000 and 100000000"},
		{"unknown pattern", func(o *Options) { o.Use.Pattern = "lunar" }, `--pattern is "lunar", which is unknown`},
		{"unknown agent", func(o *Options) { o.Use.Agent = "" }, `--agent is "", which is unknown`},
		{
			"check-ins faster than their part", func(o *Options) { o.Figures.Values["check-in.time"] = 0.001 },
			"the figures of check-ins contradict each other: a check-in takes 1 ms, its part on the host 21 ms",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := office(t)
			c.change(&o)
			r, err := Simulate(context.Background(), o)
			var e *protocol.Error
			if r != nil || !errors.As(err, &e) || e.Code != protocol.CodeInvalid || !strings.HasPrefix(e.Message, c.want) {
				t.Errorf("report %v, error %v", r, err)
			}
		})
	}
}
