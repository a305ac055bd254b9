package queueing

// Simulation is a clock and the events to come.
type Simulation struct {
	now     float64
	count   uint64
	pending []event
}

// event is an act at a time. order separates events of one time.
type event struct {
	at    float64
	order uint64
	act   func()
}

func (e event) before(f event) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// Now returns the time of the event that runs.
func (s *Simulation) Now() float64 { return s.now }

// At schedules an act. A time before now means now.
func (s *Simulation) At(at float64, act func()) {
	s.count++
	s.push(event{max(at, s.now), s.count, act})
}

// After schedules an act delay seconds from now.
func (s *Simulation) After(delay float64, act func()) { s.At(s.now+delay, act) }

// Run runs the events before the time until, and sets the clock to it. Later events stay.
func (s *Simulation) Run(until float64) {
	for len(s.pending) > 0 && s.pending[0].at < until {
		next := s.pop()
		s.now = next.at
		next.act()
	}
	s.now = max(s.now, until)
}

// push and pop keep pending a binary heap. The heap of the standard library boxes each element, which takes a third
// of the time of a run.
func (s *Simulation) push(e event) {
	s.pending = append(s.pending, e)
	h, i := s.pending, len(s.pending)-1
	for i > 0 && e.before(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
}

func (s *Simulation) pop() event {
	h := s.pending
	first, last := h[0], h[len(h)-1]
	h[len(h)-1] = event{}
	h = h[:len(h)-1]
	s.pending = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if last.before(h[child]) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return first
}
