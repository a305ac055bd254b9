package sizing

import "bellhop/internal/queueing"

// step is a visit to a station on the way of a request.
type step struct {
	station *queueing.Station
	cost    float64 // mean of the service
}

// pass sends a request through stations, one after the other. done gets the time that it spent in all.
func (m *model) pass(steps []step, spent float64, done func(spent float64)) {
	if len(steps) == 0 {
		done(spent)
		return
	}
	steps[0].station.Serve(m.service(steps[0]), func(more float64) { m.pass(steps[1:], spent+more, done) })
}

// service draws the time of a service. A flush takes its time, and a receiver too; CPU times are exponential, which
// is more uneven than the measured ones.
func (m *model) service(s step) float64 {
	if s.station == m.commits || s.station == m.outbound {
		return s.cost
	}
	return s.cost * m.random.ExpFloat64()
}

// onHost is a step on the host's CPU. Streams and agents have their part of it already, so the work takes longer.
func (m *model) onHost(h *host, cost float64) step {
	taken := m.continuous(float64(h.turns.Value()), float64(h.readers.Value()))
	m.hostWork[m.period()] += cost * m.hostFactor
	return step{h.cpu, cost / (1 - min(taken, 0.95))}
}

// continuous is the share of a host's cores that open turns and readers take as long as they are there.
func (m *model) continuous(turns, readers float64) float64 {
	cores := turns*m.Use.AgentCores + readers*m.streamCost()
	return cores * m.hostFactor / float64(m.Deployment.HostCores)
}

// streamCost is the share of a core that one reader takes.
func (m *model) streamCost() float64 { return m.Use.Parts * m.costs.part }

// checkIn stores the message, opens the session on the host, stores the outcome, and starts the turn.
func (m *model) checkIn(v *visit) {
	c := m.costs.checkIn
	v.turns--
	m.pass([]step{
		{m.broker, c.broker},
		{m.database, c.database / 2},
		{m.commits, m.costs.fsync},
		m.onHost(v.host, c.host),
		{m.database, c.database / 2},
		{m.commits, m.costs.fsync},
	}, 0, func(spent float64) {
		m.checkIns[m.period()].Add(spent)
		m.start(v)
	})
}

func (m *model) start(v *visit) {
	m.started[m.period()]++
	length := m.random.ExpFloat64() * m.Use.Turn.Seconds()
	readers := m.about(m.Use.Readers)
	v.host.turns.Move(1)
	v.host.readers.Move(readers)
	if !v.running {
		v.running = true
		v.host.programs.Move(1)
	}
	v.stopAt = 0
	end := m.sim.Now() + length
	m.post(v, end)
	m.sim.At(end, func() { m.end(v, readers) })
}

// post schedules the next request with events of a turn.
func (m *model) post(v *visit, end float64) {
	at := m.sim.Now() + m.random.ExpFloat64()*m.Use.Turn.Seconds()*m.Use.Batch/m.Use.Events
	if at >= end {
		return
	}
	m.sim.At(at, func() {
		c := m.costs.request
		m.requests[m.period()]++
		m.pass([]step{
			m.onHost(v.host, c.host), {m.broker, c.broker}, {m.database, c.database}, {m.commits, m.costs.fsync},
		}, 0, func(spent float64) { m.stored[m.period()].Add(spent) })
		m.post(v, end)
	})
}

func (m *model) end(v *visit, readers int) {
	v.host.turns.Move(-1)
	v.host.readers.Move(-readers)
	for range m.about(m.Use.Deliveries) {
		m.deliver()
	}
	now := m.sim.Now()
	v.stopAt = now + idleProgram
	m.sim.At(v.stopAt, func() { m.stopProgram(v) })
	if v.turns > 0 {
		m.sim.After(m.random.ExpFloat64()*m.Use.Think.Seconds(), func() { m.checkIn(v) })
	}
}

// stopProgram stops an agent's program that no turn has used since its time was set.
func (m *model) stopProgram(v *visit) {
	if v.running && v.stopAt > 0 && v.stopAt <= m.sim.Now() {
		v.running = false
		v.host.programs.Move(-1)
	}
}

func (m *model) deliver() {
	c := m.costs.delivery
	m.deliveries[m.period()]++
	m.pass([]step{
		{m.database, c.database},
		{m.commits, m.costs.fsync},
		{m.broker, c.broker},
		{m.outbound, m.Deployment.Receiver.Seconds()},
	}, 0, func(float64) {})
}
