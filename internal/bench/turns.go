package bench

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
		rows = append(rows, spreadRow(fmt.Sprintf("check-in to new tasks, %d at a time", callers),
			turns[spread]{own: []spread{through.spread()}, yard: []spread{bare.spread()}}, "the host's /session alone",
			"two commits of the broker and one of the journal, one after another"))
	}
	if r.reference == "" {
		return rows
	}
	return append(rows, r.checkInBesideNode(w))
}

// checkInBesideNode measures check-ins to the same host through the broker and,
// alternately, through the Node broker.
func (r *run) checkInBesideNode(w *system) row {
	node, callers := r.nodeBroker(w.pg), r.scale.callers
	ids, theirIDs := r.tasks(w.broker, r.scale.checkIns), node.tasks(w.host.url, r.scale.checkIns)
	var own, theirs samples
	r.parallel(len(ids), callers, func(ctx context.Context, i int) {
		start := time.Now()
		must(w.broker.CheckIn(ctx, &protocol.CheckInRequest{TaskID: ids[i], Message: "work"}))
		own.add(time.Since(start))
		start = time.Now()
		node.checkIn(ctx, theirIDs[i])
		theirs.add(time.Since(start))
	})
	return spreadRow(fmt.Sprintf("check-in to new tasks, %d at a time, beside a broker in Node", callers),
		turns[spread]{own: []spread{own.spread()}, yard: []spread{theirs.spread()}}, "the Node broker, one process",
		"the host's /session and two commits, for both")
}

// blockParts is how many parts a text block has: its end is the event.
const blockParts = 10

// latency measures how long events of busy sessions take to the commit in
// PostgreSQL and to the browser, with one reader for every session.
func latency(r *run) []row {
	w, readers := r.system(), r.readers()
	sessions := r.busy(w, readers)
	readers.warmUp()
	from := time.Now()
	seen := readers.measure(time.Duration(r.scale.rounds) * r.scale.round)
	until := time.Now()
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		w.host.call(ctx, "/session/"+sessions[i].id+"/interrupt", sessions[i].token, nil)
	})
	stored := r.commits(w, from, until)
	rate := float64(stored.Count) / until.Sub(from).Seconds()
	load := fmt.Sprintf("%d busy sessions, %.0f events/s, %.0f parts/s", r.scale.busy, rate, rate*blockParts)
	return []row{{
		what: "event → database: " + load, figure: stored.String(),
		bound: "from the agent's last word to the commit's time in PostgreSQL: a commit of the journal, " +
			"an HTTP request, a commit of the database",
	}, {
		what: "event → browser: the same", figure: seen.ends.spread().String(),
		bound: "a commit of the journal, which comes before the part that completes the event",
	}, {
		what: "part → browser: the same, parts that complete no event", figure: seen.parts.spread().String(),
		bound: "nothing is written for them",
	}}
}

// busy checks in to tasks, attaches a reader to each and starts its turn.
func (r *run) busy(w *system, readers *readers) (sessions []*session) {
	for _, t := range r.checkIns(w.broker, r.scale.busy) {
		sessions = append(sessions, &session{host: w.host, id: t.SessionID, token: t.StreamToken})
	}
	readers.read(sessions, 1)
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		sessions[i].begin(ctx, fmt.Sprintf("pace %s %d", r.scale.every, blockParts))
	})
	return sessions
}

// commits compares the end time of a block, which its text contains, with the time
// of the commit that stored it.
func (r *run) commits(w *system, from, until time.Time) spread {
	rows := must(r.connect(w.pg, "bellhop").Query(r.ctx,
		`SELECT body, pg_xact_commit_timestamp(xmin) FROM log WHERE type = 'text'`))
	defer rows.Close()
	var times samples
	for rows.Next() {
		var body []byte
		var committed time.Time
		check(rows.Scan(&body, &committed))
		at := time.Unix(0, markIn(body, endMark))
		if at.After(from) && at.Before(until) {
			times.add(committed.Sub(at))
		}
	}
	check(rows.Err())
	return times.spread()
}

// idle fills a host with sessions of one turn each, then kills and restarts it.
func idle(r *run) []row {
	n, webhook, data := r.scale.idle, r.stub().hook, r.dir()
	host := r.host(data)
	empty, start := host.footprint(), time.Now()
	r.parallel(n, 16, func(ctx context.Context, _ int) {
		host.open(ctx, &protocol.OpenSessionRequest{WebhookURL: webhook}).complete(ctx,
			"say something that is worth an event")
	})
	filling := time.Since(start)
	transport.CloseIdleConnections()
	filled := host.footprint()
	host.stopped = true
	check(host.Kill())
	start = time.Now()
	after := r.host(data)
	restart := time.Since(start)
	live, resident, goroutines := filled.per(n, empty)
	liveAfter, residentAfter, _ := after.footprint().per(n, empty)
	return []row{{
		what: fmt.Sprintf("memory of an idle session, %d of them, one turn each", n),
		figure: fmt.Sprintf("%s live, %s resident; after a restart %s live, %s resident", live, resident, liveAfter,
			residentAfter),
		bound: fmt.Sprintf("the frames of the last turn, kept for readers that resume; %.2f goroutines a session",
			goroutines),
	}, {
		what:   fmt.Sprintf("restart after SIGKILL with %d sessions", n),
		figure: brief(restart) + " until /readyz",
		beside: "opening them and running their turns took " + brief(filling),
		bound:  "reading every session's record from the journal",
	}}
}
