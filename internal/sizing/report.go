package sizing

import (
	"math"

	"bellhop/internal/queueing"
)

// Report is the outcome of a simulation. Times are seconds; hours are those of the day.
type Report struct {
	Use        Use               `json:"use"`
	Deployment Deployment        `json:"deployment"`
	Sample     Sample            `json:"sample"`
	Busiest    Busiest           `json:"busiest"`
	EventsADay float64           `json:"eventsADay"`
	Stations   []StationReport   `json:"stations"`
	Bottleneck string            `json:"bottleneck"`
	Need       Need              `json:"need"`
	Figures    map[string]Source `json:"figures"`
}

// Sample says how much of the day was simulated.
type Sample struct {
	Seed  uint64  `json:"seed"`
	OneIn float64 `json:"oneIn"` // users
	Hosts int     `json:"hosts"` // simulated
	// UsersOfAHost is how many users of a host a user of a simulated host stands for.
	UsersOfAHost float64 `json:"usersOfAHost"`
}

// Busiest is the hour with the most turns.
type Busiest struct {
	Hour       int     `json:"hour"`
	Turns      float64 `json:"turns"`     // started a second
	OpenTurns  float64 `json:"openTurns"` // mean
	Requests   float64 `json:"requests"`  // with events, a second
	Deliveries float64 `json:"deliveries"`
	CheckIn    Times   `json:"checkIn"`
	Stored     Times   `json:"stored"` // from the host's post to the commit
}

// Times are quantiles.
type Times struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// StationReport is one station in its busiest hour. Load is the work that came divided by what the station can do.
type StationReport struct {
	Name        string  `json:"name"`
	Load        float64 `json:"load"`
	Hour        int     `json:"hour"`
	Wait        *Times  `json:"wait,omitempty"`        // null of memory and network
	SaturatesAt float64 `json:"saturatesAt,omitempty"` // users; 0 without load
}

// Need is the smallest deployment whose stations have at most the load Target.
type Need struct {
	Target        float64 `json:"target"`
	Brokers       int     `json:"brokers"`       // replicas with the deployment's cores
	DatabaseCores int     `json:"databaseCores"` // in all
	Installations int     `json:"installations"` // each with a PostgreSQL of its own
	Hosts         int     `json:"hosts"`
}

// Source is a figure with the file that it was read from.
type Source struct {
	Value float64 `json:"value"`
	From  string  `json:"from"`
}

// Names of the stations.
const (
	brokerCPU   = "broker CPU"
	outboundOut = "outbound requests"
	databaseCPU = "PostgreSQL CPU"
	databaseLog = "PostgreSQL commits"
	hostCPU     = "host CPU"
	hostNetwork = "host network"
	hostMemory  = "host memory"
)

const (
	target      = 0.6  // of Need
	maxDatabase = 64   // cores of one PostgreSQL
	nearlyAll   = 0.99 // the share of the busiest hour in which a host's memory and network suffice
)

func (m *model) report() *Report {
	d := m.Deployment
	r := &Report{
		Use: m.Use, Deployment: d, Figures: map[string]Source{},
		Sample:  Sample{m.Seed, m.factor, len(m.hosts), m.hostFactor},
		Busiest: m.busiest(),
		Stations: []StationReport{
			m.queue(brokerCPU, m.broker, d.Brokers*d.BrokerCores), m.queue(databaseCPU, m.database, d.DatabaseCores),
			m.queue(databaseLog, m.commits, group), m.queue(outboundOut, m.outbound, d.Brokers*inFlight),
			m.cpuOfHosts(),
			m.levels(hostNetwork, m.network), m.levels(hostMemory, m.memory),
		},
	}
	for _, requests := range m.requests[warmUp:] {
		r.EventsADay += float64(requests) * m.factor * m.Use.Batch
	}
	r.conclude()
	for name, value := range m.Figures.Values {
		r.Figures[name] = Source{value, m.Figures.From[name]}
	}
	return r
}

// conclude derives the next bottleneck and the needed deployment from the loads.
func (r *Report) conclude() {
	var highest float64
	for i := range r.Stations {
		s := &r.Stations[i]
		if s.Load > highest {
			highest, r.Bottleneck = s.Load, s.Name
		}
		if s.Load > 0 {
			s.SaturatesAt = threeDigits(float64(r.Use.Users) / s.Load)
		}
	}
	r.Need = r.need()
}

// demandOf takes the loads from a run without queues. The waits stay.
func (r *Report) demandOf(free *Report) {
	r.EventsADay = free.EventsADay
	for i, s := range free.Stations {
		s.Wait = r.Stations[i].Wait
		r.Stations[i] = s
	}
	r.conclude()
}

func (r *Report) station(name string) StationReport {
	for _, s := range r.Stations {
		if s.Name == name {
			return s
		}
	}
	return StationReport{}
}

// busiest describes the hour in which most turns started.
func (m *model) busiest() Busiest {
	p := highestPeriod(func(p int) float64 { return float64(m.started[p]) })
	rate := func(n int) float64 { return float64(n) * m.factor / hour }
	return Busiest{
		Hour: ofDay(p), Turns: rate(m.started[p]),
		OpenTurns: m.turns.Mean(p) * m.hostFactor * float64(m.Deployment.Hosts),
		Requests:  rate(m.requests[p]), Deliveries: rate(m.deliveries[p]),
		CheckIn: times(&m.checkIns[p]), Stored: times(&m.stored[p]),
	}
}

// threeDigits rounds down to three digits, which is more than a simulation knows.
func threeDigits(v float64) float64 {
	unit := math.Pow(10, math.Max(0, math.Floor(math.Log10(v))-2))
	return math.Floor(v/unit) * unit
}

func times(h *queueing.Histogram) Times { return Times{h.Quantile(0.5), h.Quantile(0.99)} }

func highestPeriod(of func(period int) float64) int {
	best := warmUp
	for p := warmUp; p < hours; p++ {
		if of(p) > of(best) {
			best = p
		}
	}
	return best
}

// queue reports a station of which there is one, with the number of jobs that it can serve at a time.
func (m *model) queue(name string, s *queueing.Station, atATime int) StationReport {
	capacity := float64(atATime) * hour
	p := highestPeriod(func(p int) float64 { return s.Record.Period(p).Work })
	seen := s.Record.Period(p)
	wait := times(&seen.Waits)
	return StationReport{Name: name, Load: seen.Work / capacity, Hour: ofDay(p), Wait: &wait}
}

// cpuOfHosts reports the mean of all hosts: requests, and what streams and agents take.
func (m *model) cpuOfHosts() StationReport {
	cores := float64(len(m.hosts) * m.Deployment.HostCores)
	load := func(p int) float64 {
		return m.hostWork[p]/(cores*hour) + m.continuous(m.turns.Mean(p), m.readers.Mean(p))
	}
	p := highestPeriod(load)
	seen := m.hostCPU.Period(p)
	wait := times(&seen.Waits)
	return StationReport{Name: hostCPU, Load: load(p), Hour: ofDay(p), Wait: &wait}
}

func (m *model) levels(name string, load func(period int) float64) StationReport {
	p := highestPeriod(load)
	return StationReport{Name: name, Load: load(p), Hour: ofDay(p)}
}

func (m *model) network(period int) float64 {
	return m.most(m.readers, period) * m.Use.Parts * m.Use.PartBytes * 8 / m.Deployment.HostNetwork
}

func (m *model) memory(period int) float64 {
	v := m.Figures.Values
	sessions := m.Use.Sessions * float64(m.Use.Users) / float64(m.Deployment.Hosts) * v["session.memory"]
	programs := m.most(m.programs, period) * v["agent.memory."+m.Use.Agent]
	readers := m.most(m.readers, period) * v["stream.memory"]
	return (sessions + programs + readers) / m.Deployment.HostMemory
}

// most is how many programs or readers a host has, in nearly all of an hour. A simulated host that stands for f times
// as many users has f times the mean, and √f times the deviation from it.
func (m *model) most(g *queueing.Gauge, period int) float64 {
	mean := g.Mean(period)
	deviation := float64(g.Quantile(period, nearlyAll)) - mean
	return mean*m.hostFactor + deviation*math.Sqrt(m.hostFactor)
}

// need scales the deployment by the loads: the work that users would do does not depend on it.
func (r *Report) need() Need {
	load := func(name string) float64 { return r.station(name).Load }
	d := r.Deployment
	scaled := func(n int, load float64) int { return max(1, int(math.Ceil(float64(n)*load/target))) }
	n := Need{
		Target: target, Brokers: scaled(d.Brokers, max(load(brokerCPU), load(outboundOut))),
		DatabaseCores: scaled(d.DatabaseCores, load(databaseCPU)),
		Hosts:         scaled(d.Hosts, max(load(hostCPU), load(hostNetwork), load(hostMemory))),
	}
	n.Installations = max((n.DatabaseCores+maxDatabase-1)/maxDatabase, scaled(1, load(databaseLog)))
	return n
}
