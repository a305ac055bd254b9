package sizing

import (
	"context"
	"math"
	"math/rand/v2"

	"bellhop/internal/queueing"
	"bellhop/protocol"
)

// Options are the input of a simulation.
type Options struct {
	Use        Use
	Deployment Deployment
	Figures    Figures
	Seed       uint64
	Jobs       int // webhook requests, check-ins and deliveries to simulate; more of them in a day are sampled
}

const (
	hour        = 3600.0
	warmUp      = 2    // hours before the day that is reported
	hours       = 26   // with them
	idleProgram = 600  // seconds after which an agent's idle program stops
	inFlight    = 128  // outbound requests of a replica at a time
	group       = 16   // commits that share a flush, at most
	nearlyFull  = 0.9  // the load from which users who wait do noticeably less
	candidates  = 64   // hosts among which that with the fewest open turns gets a visit
	minJobs     = 1000 // of Options.Jobs
	maxJobs     = 100_000_000
)

// model is one day of a sample of the users, with the hosts that they need.
type model struct {
	Options
	costs      costs
	random     *rand.Rand
	sim        *queueing.Simulation
	factor     float64 // users for each user of the sample
	hostFactor float64 // users of a host for each user of the sample on it

	broker, database, commits, outbound *queueing.Station

	hosts             []*host
	hostCPU           queueing.Record
	hostWork          [hours]float64  // seconds of CPU, without what streams and agents take
	turns             *queueing.Gauge // open ones of each host
	programs, readers *queueing.Gauge

	started, requests, deliveries [hours]int
	checkIns, stored              [hours]queueing.Histogram
}

type host struct {
	cpu                      *queueing.Station
	turns, programs, readers *queueing.Level
}

// visit is a user's work on one task.
type visit struct {
	host    *host
	turns   int  // still to come
	running bool // the agent's program
	stopAt  float64
}

// Simulate runs the model for a day. The same options give the same report. It ends early when ctx ends.
func Simulate(ctx context.Context, o Options) (*Report, error) {
	if err := check(o.Use, o.Deployment); err != nil {
		return nil, err
	}
	if o.Jobs < minJobs || o.Jobs > maxJobs {
		return nil, protocol.Errorf(protocol.CodeInvalid, "--jobs is %d; it must be between %d and %d",
			o.Jobs, minJobs, maxJobs)
	}
	costs, err := o.Figures.costs(o.Use.Batch)
	if err != nil {
		return nil, err
	}
	m := newModel(o, costs)
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	r := m.report()
	if r.station(r.Bottleneck).Load < nearlyFull {
		return r, nil
	}
	// Users who wait do less. What they would do without waiting comes from a run in which no queue forms.
	free := newModel(o, costs)
	free.unbounded()
	if err := free.run(ctx); err != nil {
		return nil, err
	}
	r.demandOf(free.report())
	return r, nil
}

func (m *model) run(ctx context.Context) error {
	m.sim.At(0, m.arrive)
	for second := 60.0; second <= hours*hour; second += 60 {
		m.sim.Run(second)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// unbounded gives the queues so many servers that none forms. Loads stay those of the deployment.
func (m *model) unbounded() {
	for _, s := range append([]*queueing.Station{m.broker, m.database, m.commits, m.outbound}, m.cpus()...) {
		s.Servers = math.MaxInt32
	}
}

func (m *model) cpus() []*queueing.Station {
	var all []*queueing.Station
	for _, h := range m.hosts {
		all = append(all, h.cpu)
	}
	return all
}

func newModel(o Options, c costs) *model {
	u, d := o.Use, o.Deployment
	m := &model{
		Options: o, costs: c, random: rand.New(rand.NewPCG(o.Seed, 1)), //nolint:gosec // a simulation
		sim: &queueing.Simulation{}, hostCPU: queueing.Record{Width: hour},
	}
	jobs := u.visitsOfADay() * u.Turns * (2 + u.Events/u.Batch + u.Deliveries)
	m.factor = max(1, math.Ceil(jobs/float64(o.Jobs)))
	hosts := int(math.Ceil(float64(d.Hosts) / m.factor))
	m.hostFactor = m.factor * float64(hosts) / float64(d.Hosts)

	m.broker = m.station(d.Brokers*d.BrokerCores, m.factor)
	m.database = m.station(d.DatabaseCores, m.factor)
	m.commits = m.station(1, m.factor)
	m.commits.Group = group
	m.outbound = m.station(d.Brokers*inFlight, m.factor)
	m.turns, m.programs, m.readers = m.gauge(), m.gauge(), m.gauge()
	for range hosts {
		cpu := m.station(d.HostCores, m.hostFactor)
		cpu.Record = &m.hostCPU
		h := &host{cpu: cpu, turns: m.turns.Level(), programs: m.programs.Level(), readers: m.readers.Level()}
		m.hosts = append(m.hosts, h)
	}
	return m
}

func (m *model) station(servers int, dilation float64) *queueing.Station {
	record := &queueing.Record{Width: hour}
	return &queueing.Station{Sim: m.sim, Servers: servers, Dilation: dilation, Record: record}
}

func (m *model) gauge() *queueing.Gauge { return &queueing.Gauge{Sim: m.sim, Width: hour} }

// visitsOfADay is how many visits all users make on a day.
func (u Use) visitsOfADay() float64 { return float64(u.Users) * u.Active * u.Visits }

// period is the hour of the simulation that it is.
func (m *model) period() int { return min(int(m.sim.Now()/hour), hours-1) }

// ofDay is the hour of the day of a period.
func ofDay(period int) int { return (period + 24 - warmUp) % 24 }

// arrive schedules the visits of an hour, and itself for the next. Poisson arrivals of an hour are so many,
// at times that do not depend on each other.
func (m *model) arrive() {
	weights := patterns[m.Use.Pattern]
	var total float64
	for _, w := range weights {
		total += w
	}
	begin := m.sim.Now()
	rate := m.Use.visitsOfADay() / m.factor * weights[ofDay(m.period())] / total / hour
	var next func()
	next = func() {
		delay := m.random.ExpFloat64() / rate
		if m.sim.Now()+delay >= begin+hour {
			return
		}
		m.sim.After(delay, func() {
			m.begin()
			next()
		})
	}
	next()
	m.sim.At(begin+hour, m.arrive)
}

// begin starts a visit on the host that has the fewest open turns.
func (m *model) begin() {
	v := &visit{turns: m.geometric(m.Use.Turns), host: m.hosts[m.random.IntN(len(m.hosts))]}
	for range min(candidates, len(m.hosts)) - 1 {
		if other := m.hosts[m.random.IntN(len(m.hosts))]; other.turns.Value() < v.host.turns.Value() {
			v.host = other
		}
	}
	m.checkIn(v)
}

// geometric returns a number of at least 1 with the mean.
func (m *model) geometric(mean float64) int {
	if mean <= 1 {
		return 1
	}
	return 1 + int(math.Log(1-m.random.Float64())/math.Log(1-1/mean))
}

// about returns a whole number whose mean is the given one: the number below it, or the next.
func (m *model) about(mean float64) int {
	below := math.Floor(mean)
	if m.random.Float64() < mean-below {
		below++
	}
	return int(below)
}
