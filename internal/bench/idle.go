package main

import (
	"context"
	"fmt"
	"time"

	"bellhop/protocol"
)

// idle fills a host with sessions of one turn each, then kills and restarts it.
func idle(r *run) []row {
	n, webhook, host := r.scale.idle, r.stub().hook, r.host(r.dir())
	empty, start := host.footprint(), time.Now()
	r.parallel(n, 16, func(ctx context.Context, _ int) {
		host.open(ctx, &protocol.OpenSessionRequest{WebhookURL: webhook}).complete(ctx, "say something that is worth an event")
	})
	filling := time.Since(start)
	transport.CloseIdleConnections()
	filled := host.footprint()
	host.stopped = true
	check(host.Kill())
	start = time.Now()
	after := r.host(host.data)
	restart := time.Since(start)
	live, resident, goroutines := filled.per(n, empty)
	liveAfter, residentAfter, _ := after.footprint().per(n, empty)
	return []row{{
		what:   fmt.Sprintf("memory of an idle session, %d of them, one turn each", n),
		figure: fmt.Sprintf("%s live, %s resident; after a restart %s live, %s resident", live, resident, liveAfter, residentAfter),
		bound:  fmt.Sprintf("the frames of the last turn, kept for readers that resume; %.2f goroutines a session", goroutines),
	}, {
		what:   fmt.Sprintf("restart after SIGKILL with %d sessions", n),
		figure: brief(restart) + " until /readyz",
		beside: "opening them and running their turns took " + brief(filling),
		bound:  "reading every session's record from the journal",
	}}
}
