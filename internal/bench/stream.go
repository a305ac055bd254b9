package main

import (
	"context"
	"fmt"
	"time"

	"bellhop/protocol"
)

// streaming is a host with readers; the broker is a stub.
type streaming struct {
	*run
	host    *hostProcess
	readers *peer
	open    []*session
}

// stream measures many readers of one host, in turns with and without readers that
// never read.
func stream(r *run) []row {
	s := &streaming{run: r}
	webhook := r.stub().hook
	s.host, s.readers, s.open = r.host(r.dir()), r.role("readers"), make([]*session, r.scale.sessions)
	r.parallel(len(s.open), 8, func(ctx context.Context, i int) {
		s.open[i] = s.host.open(ctx, &protocol.OpenSessionRequest{WebhookURL: webhook})
		s.open[i].complete(ctx, fmt.Sprintf("bulk %d", r.scale.backlog))
	})
	alone := s.host.footprint()
	s.readers.do("Read", reading(s.open, r.scale.readers/len(s.open), false))
	idle := s.host.footprint()
	r.parallel(len(s.open), 8, func(ctx context.Context, i int) {
		s.open[i].begin(ctx, fmt.Sprintf("pace %s 100", r.scale.every))
	})
	healthy, beside := s.rounds()
	return s.rows(healthy, beside, alone, idle, s.host.footprint())
}

// delivered holds the results of all rounds of one kind.
type delivered struct {
	spreads
	parts   int
	used    [2]time.Duration // CPU of host and readers
	elapsed time.Duration
}

// rounds measures in turns without and with readers that never read.
func (s *streaming) rounds() (healthy, beside delivered) {
	time.Sleep(s.scale.round / 2) // warm-up
	for range s.scale.rounds {
		s.round(&healthy)
		s.readers.do("Stall", reading(s.open[:min(s.scale.stalled, len(s.open))], 1, true))
		time.Sleep(s.scale.round / 10) // until the kernel buffers no more for them
		s.round(&beside)
		s.readers.do("Unstall", true)
		s.log("  p99 %s alone, %s beside stalled readers", brief(last(healthy.p99())), brief(last(beside.p99())))
	}
	return healthy, beside
}

func (s *streaming) round(d *delivered) {
	var seen ReaderResult
	start := time.Now()
	used := cpuDuring(func() { seen = ask[ReaderResult](s.readers, "Measure", s.scale.round) }, s.host.Pid(), s.readers.Pid())
	d.elapsed += time.Since(start)
	for i := range used {
		d.used[i] += used[i]
	}
	d.parts += seen.Parts.Count
	d.spreads = append(d.spreads, seen.Parts)
}

func (s *streaming) rows(healthy, beside delivered, alone, idle, busy Footprint) []row {
	sc, seconds := s.scale, healthy.elapsed.Seconds()
	live, resident, _ := idle.per(sc.readers, alone)
	liveBusy, residentBusy, goroutines := busy.per(sc.readers, alone)
	return []row{
		{
			what:   fmt.Sprintf("part → reader: %d readers on %d sessions, a part every %s in each", sc.readers, sc.sessions, sc.every),
			figure: fmt.Sprintf("%s; %.0f parts/s delivered", healthy.longest(), float64(healthy.parts)/seconds),
			bound: fmt.Sprintf("CPU: host %.2f, readers %.2f cores; a write and a read of a socket for every part and reader",
				healthy.used[0].Seconds()/seconds, healthy.used[1].Seconds()/seconds),
		},
		{
			what:   fmt.Sprintf("the same beside %d readers that never read, %s behind", sc.stalled, kib(float64(sc.backlog))),
			figure: beside.longest(),
			beside: "without them, in turns: p99 " + brief(median(healthy.p99())),
			ratio:  ratio(beside.p99(), healthy.p99()),
			bound:  "they are cut after 5 s without progress",
		},
		{
			what: "memory and goroutines of a reader",
			figure: fmt.Sprintf("%s live (%s resident) idle, %s live (%s resident) streaming; %.2f goroutines",
				live, resident, liveBusy, residentBusy, goroutines),
			bound: "net/http: two goroutines with their stacks and 10 KiB of buffers for a connection",
		},
	}
}
