package queueing

// Period is what a station saw in a span of time, until it last changed. Busy and InSystem are areas: servers ×
// seconds, jobs × seconds.
type Period struct {
	Jobs           int     // that came
	Work           float64 // seconds of service that they need, dilated
	Busy, InSystem float64
	Waits          Histogram // of the jobs whose service began, without the dilation
}

// Record holds what one station saw, or several together.
type Record struct {
	Width float64 // seconds of a period

	periods []Period
}

// Period returns the counts of a period; zeros if nothing came in it.
func (r *Record) Period(n int) Period {
	if n >= len(r.periods) {
		return Period{}
	}
	return r.periods[n]
}

func (r *Record) at(time float64) *Period {
	n := int(time / r.Width)
	for len(r.periods) <= n {
		r.periods = append(r.periods, Period{})
	}
	return &r.periods[n]
}

// Station is a set of servers with one queue, first come, first served.
type Station struct {
	Sim      *Simulation
	Servers  int
	Group    int     // how many waiting jobs a server takes at once; 0 = 1
	Dilation float64 // see the package; 0 = 1
	Record   *Record

	busy, inSystem int
	since          float64 // when busy or inSystem changed
	queue          []job
	head           int
}

type job struct {
	arrived, service float64
	done             func(spent float64)
}

// Serve queues a job. done runs when it is served, with the seconds that it spent here, without the dilation.
func (s *Station) Serve(service float64, done func(spent float64)) {
	s.account()
	service *= s.dilation()
	p := s.Record.at(s.Sim.now)
	p.Jobs++
	p.Work += service
	s.inSystem++
	s.queue = append(s.queue, job{s.Sim.now, service, done})
	if s.busy < s.Servers {
		s.start()
	}
}

// start gives a free server the next jobs. A group takes as long as its first job: what it shares is that work.
func (s *Station) start() {
	n := min(max(s.Group, 1), len(s.queue)-s.head)
	group := append([]job(nil), s.queue[s.head:s.head+n]...)
	clear(s.queue[s.head : s.head+n])
	if s.head += n; s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	} else if s.head > len(s.queue)/2 {
		s.queue, s.head = append(s.queue[:0], s.queue[s.head:]...), 0
	}
	s.busy++
	for _, j := range group {
		s.Record.at(s.Sim.now).Waits.Add((s.Sim.now - j.arrived) / s.dilation())
	}
	s.Sim.After(group[0].service, func() { s.finish(group) })
}

func (s *Station) finish(group []job) {
	s.account()
	s.busy--
	s.inSystem -= len(group)
	if s.head < len(s.queue) {
		s.start()
	}
	for _, j := range group {
		j.done((s.Sim.now - j.arrived) / s.dilation())
	}
}

// account adds the areas since the last change, each period its part.
func (s *Station) account() {
	eachPeriod(s.since, s.Sim.now, s.Record.Width, func(at, span float64) {
		p := s.Record.at(at)
		p.Busy += float64(s.busy) * span
		p.InSystem += float64(s.inSystem) * span
	})
	s.since = s.Sim.now
}

func (s *Station) dilation() float64 {
	if s.Dilation == 0 {
		return 1
	}
	return s.Dilation
}

// eachPeriod calls f for each part of a span of time, with a time within it and its length.
func eachPeriod(from, until, width float64, f func(at, span float64)) {
	for n := int(from / width); from < until; n++ {
		end := min(until, float64(n+1)*width)
		if end > from {
			f(float64(n)*width, end-from)
			from = end
		}
	}
}
