package main

import (
	"context"
	"fmt"
	"time"

	"bellhop/protocol"
)

// stream measures many readers of one host, in turns with and without readers that
// never read. The broker is a stub.
func stream(r *run) []row {
	hook, host, readers := r.stub().hook, r.host(r.dir()), r.role("readers")
	sessions := make([]*session, r.scale.sessions)
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		sessions[i] = host.open(ctx, &protocol.OpenSessionRequest{WebhookURL: hook})
		sessions[i].complete(ctx, fmt.Sprintf("bulk %d", r.scale.backlog))
	})
	alone := host.footprint()
	readers.do("Read", reading(sessions, r.scale.readers/len(sessions), false))
	idle := host.footprint()
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		sessions[i].begin(ctx, fmt.Sprintf("pace %s 100", r.scale.every))
	})
	readers.do("Warm", true)
	used, elapsed := newMeter(host.Pid(), readers.Pid()), time.Duration(0)
	t := inTurns(r, func() spread {
		readers.do("Stall", reading(sessions[:min(r.scale.stalled, len(sessions))], 1, true))
		defer readers.do("Unstall", true)
		return ask[ReaderResult](readers, "Measure", r.scale.round).Parts
	}, func() (seen spread) {
		start := time.Now()
		used.during(func() { seen = ask[ReaderResult](readers, "Measure", r.scale.round).Parts })
		elapsed += time.Since(start)
		return seen
	})
	return streamRows(r.scale, used, elapsed, t, [3]Footprint{alone, idle, host.footprint()})
}

// streamRows takes the footprints of the host alone, with idle readers, and with busy
// ones.
func streamRows(sc scale, used *meter, elapsed time.Duration, t turns[spread], host [3]Footprint) []row {
	healthy, stalled, seconds, parts := spreads(t.yard), spreads(t.own), elapsed.Seconds(), 0
	for _, one := range healthy {
		parts += one.Count
	}
	live, resident, _ := host[1].per(sc.readers, host[0])
	liveBusy, residentBusy, goroutines := host[2].per(sc.readers, host[0])
	return []row{{
		what:   fmt.Sprintf("part → reader: %d readers on %d sessions, a part every %s in each", sc.readers, sc.sessions, sc.every),
		figure: fmt.Sprintf("%s; %.0f parts/s delivered", healthy.longest(), float64(parts)/seconds),
		bound: fmt.Sprintf("CPU: host %.2f, readers %.2f cores; a write and a read of a socket for every part and reader",
			used.sums[0].Seconds()/seconds, used.sums[1].Seconds()/seconds),
	}, {
		what:   fmt.Sprintf("the same beside %d readers that never read, %s behind", sc.stalled, kib(float64(sc.backlog))),
		figure: stalled.longest(),
		beside: "without them, in turns: p99 " + brief(median(healthy.p99())),
		ratio:  ratio(stalled.p99(), healthy.p99()),
		bound:  "they are cut after 5 s without progress",
	}, {
		what: "memory and goroutines of a reader",
		figure: fmt.Sprintf("%s live (%s resident) idle, %s live (%s resident) streaming; %.2f goroutines",
			live, resident, liveBusy, residentBusy, goroutines),
		bound: "net/http: two goroutines with their stacks and 10 KiB of buffers for a connection",
	}}
}
