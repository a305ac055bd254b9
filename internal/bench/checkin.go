package main

import (
	"context"
	"fmt"
	"time"

	"bellhop/protocol"
)

// checkIn measures POST /api/agent and, in turns, the host's /session alone: every
// client checks in to a new task, then opens a new session directly on the host.
func checkIn(r *run) (rows []row) {
	w, webhook := r.system(), r.stub().hook
	for _, callers := range []int{1, r.scale.callers} {
		ids := r.tasks(w.broker, r.scale.checkIns)
		var through, bare samples
		r.parallel(len(ids), callers, func(ctx context.Context, i int) {
			start := time.Now()
			must(w.broker.CheckIn(ctx, &protocol.CheckInRequest{TaskID: ids[i], Message: "work"}))
			through.add(time.Since(start))
			req := &protocol.OpenSessionRequest{
				WebhookURL: webhook, Cursor: &protocol.Cursor{}, Turn: &protocol.AnnouncedTurn{ID: protocol.NewID()},
			}
			start = time.Now()
			w.host.open(ctx, req)
			bare.add(time.Since(start))
		})
		t, h := through.spread(), bare.spread()
		rows = append(rows, row{
			what:   fmt.Sprintf("check-in to new tasks, %d at a time", callers),
			figure: t.String(),
			beside: "the host's /session alone: " + h.String(),
			ratio:  fmt.Sprintf("%.1f at p50, %.1f at p99", float64(t.P50)/float64(h.P50), float64(t.P99)/float64(h.P99)),
			bound:  "two commits of the broker (message, outcome) and one of the journal, one after another",
		})
	}
	return rows
}
