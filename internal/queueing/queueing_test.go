package queueing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// length is how long the tests' queues run: some hundred thousand jobs.
const length = 200_000

// queue runs a station with Poisson arrivals and returns what it saw.
func queue(station Station, rate float64, service func(*rand.Rand) float64) Period {
	until := length * station.dilation()
	random := rand.New(rand.NewPCG(1, 2))
	sim := &Simulation{}
	station.Sim, station.Record = sim, &Record{Width: until}
	var arrive func()
	arrive = func() {
		station.Serve(service(random), func(float64) {})
		sim.After(random.ExpFloat64()/rate, arrive)
	}
	sim.At(0, arrive)
	sim.Run(until)
	return station.Record.Period(0)
}

func exponential(random *rand.Rand) float64 { return random.ExpFloat64() }

func constant(*rand.Rand) float64 { return 1 }

// erlangC is the probability that a job waits at c servers with an offered load of a.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

func TestMeanWaitsAreThoseOfTheClosedForms(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers int
		rate    float64
		service func(*rand.Rand) float64
		want    float64
	}{
		{"M/M/1, half full", 1, 0.5, exponential, 1},
		{"M/M/1, 80 % full", 1, 0.8, exponential, 4},
		{"M/D/1, 80 % full", 1, 0.8, constant, 2},
		{"M/M/2, 75 % full", 2, 1.5, exponential, erlangC(2, 1.5) / (2 - 1.5)},
		{"M/M/8, 90 % full", 8, 7.2, exponential, erlangC(8, 7.2) / (8 - 7.2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := queue(Station{Servers: c.servers}, c.rate, c.service)
			if got := p.Waits.Mean(); math.Abs(got-c.want) > 0.04*c.want {
				t.Errorf("the mean wait is %.3f, want %.3f", got, c.want)
			}
		})
	}
}

// Of the M/M/1 the share of jobs that wait longer than t is ρ·exp(-(1-ρ)·t).
func TestQuantilesOfWaitsAreThoseOfTheClosedForm(t *testing.T) {
	p := queue(Station{Servers: 1}, 0.8, exponential)
	for _, q := range []float64{0.5, 0.9, 0.99} {
		want := math.Log(0.8/(1-q)) / 0.2
		if got := p.Waits.Quantile(q); math.Abs(got-want) > 0.08*want {
			t.Errorf("quantile %v is %.3f, want %.3f", q, got, want)
		}
	}
	if got := p.Waits.Quantile(0.1); got != 0 {
		t.Errorf("a fifth of the jobs does not wait, but quantile 0.1 is %v", got)
	}
}

// Little: the mean number in the system is the rate times the mean time in it. Utilization: the mean number of busy
// servers is the rate times the mean service.
func TestLittlesLawHolds(t *testing.T) {
	for _, c := range []struct {
		name    string
		station Station
		rate    float64
	}{
		{"one server", Station{Servers: 1}, 0.9},
		{"four servers", Station{Servers: 4}, 3},
		{"dilated", Station{Servers: 2, Dilation: 5}, 0.3},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := queue(c.station, c.rate, exponential)
			d := c.station.dilation()
			rate := float64(p.Jobs) / (length * d)
			inSystem, busy := p.InSystem/(length*d), p.Busy/(length*d)
			if want := rate * d * (p.Waits.Mean() + 1); math.Abs(inSystem-want) > 0.02*want {
				t.Errorf("%.3f jobs are in the system, want %.3f", inSystem, want)
			}
			if want := rate * d; math.Abs(busy-want) > 0.02*want {
				t.Errorf("%.3f servers are busy, want %.3f", busy, want)
			}
		})
	}
}

// A tenth of the jobs at a station that is ten times as slow has the load and the waits of all.
func TestADilatedSampleHasTheSameWaits(t *testing.T) {
	all := queue(Station{Servers: 3}, 2.4, exponential)
	sample := queue(Station{Servers: 3, Dilation: 10}, 0.24, exponential)
	if a, s := all.Waits.Mean(), sample.Waits.Mean(); math.Abs(a-s) > 0.1*a {
		t.Errorf("the mean wait is %.3f of the sample, %.3f of all", s, a)
	}
	if a, s := all.Waits.Quantile(0.99), sample.Waits.Quantile(0.99); math.Abs(a-s) > 0.12*a {
		t.Errorf("quantile 0.99 is %.3f of the sample, %.3f of all", s, a)
	}
}

// A server that takes up to 8 jobs at once serves 8 times the rate that one without groups could.
func TestAGroupIsServedAtOnce(t *testing.T) {
	p := queue(Station{Servers: 1, Group: 8}, 6, constant)
	if mean := p.Waits.Mean(); mean > 1.5 {
		t.Errorf("at 75 %% of what groups of 8 can take, the mean wait is %.2f services", mean)
	}
	if p.Busy < 0.95*length {
		t.Errorf("the server was busy for %.0f of %d s", p.Busy, length)
	}
	full := queue(Station{Servers: 1, Group: 8}, 9, constant)
	if mean := full.Waits.Mean(); mean < 1000 {
		t.Errorf("above what groups of 8 can take, the mean wait is only %.0f services", mean)
	}
}

func TestEventsComeInTheOrderOfTheirTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "times")
		type seen struct{ at, order int }
		var got, want []seen
		sim := &Simulation{}
		for i, at := range times {
			want = append(want, seen{at, i})
			sim.At(float64(at), func() {
				if sim.Now() != float64(at) {
					t.Errorf("the event of %d runs at %v", at, sim.Now())
				}
				got = append(got, seen{at, i})
			})
		}
		slices.SortStableFunc(want, func(a, b seen) int { return a.at - b.at })
		sim.Run(21)
		if !slices.Equal(got, want) {
			t.Errorf("events came as %v, want %v", got, want)
		}
	})
}

func TestLaterEventsStayForTheNextRun(t *testing.T) {
	sim, ran := &Simulation{}, 0
	sim.At(10, func() { ran++ })
	sim.Run(10)
	if ran != 0 || sim.Now() != 10 {
		t.Errorf("%d events ran until %v", ran, sim.Now())
	}
	sim.Run(11)
	if ran != 1 {
		t.Error("the event did not run")
	}
}

func TestAPeriodHasItsPartOfALevel(t *testing.T) {
	sim := &Simulation{}
	g := &Gauge{Sim: sim, Width: 10}
	one, other := g.Level(), g.Level()
	sim.At(5, func() { one.Move(4) })
	sim.At(15, func() { one.Move(-4); other.Move(2) })
	sim.Run(20)
	for period, want := range []float64{1, 1.5} {
		if got := g.Mean(period); got != want {
			t.Errorf("the mean of period %d is %v, want %v", period, got, want)
		}
	}
	if got := []int{g.Quantile(0, 0.7), g.Quantile(0, 0.8), g.Quantile(1, 0.5), g.Quantile(1, 0.7)}; !slices.Equal(
		got, []int{0, 4, 0, 2}) {
		t.Errorf("quantiles %v", got)
	}
	if g.Mean(7) != 0 || g.Quantile(7, 0.5) != 0 {
		t.Error("a period that did not come has a value")
	}
}
