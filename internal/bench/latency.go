package main

import (
	"context"
	"fmt"
	"time"
)

// blockParts is how many parts a text block has: its end is the event.
const blockParts = 10

// latency measures how long events of busy sessions take to the commit in
// PostgreSQL and to the browser, with one reader for every session.
func latency(r *run) []row {
	w, readers := r.system(), r.role("readers")
	sessions := r.busy(w, readers)
	readers.do("Warm", true)
	from := time.Now()
	seen := ask[ReaderResult](readers, "Measure", time.Duration(r.scale.rounds)*r.scale.round)
	until := time.Now()
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		w.host.call(ctx, "/session/"+sessions[i].id+"/interrupt", hostPassword, nil)
	})
	stored := r.commits(w, from, until)
	rate := float64(stored.Count) / until.Sub(from).Seconds()
	load := fmt.Sprintf("%d busy sessions, %.0f events/s, %.0f parts/s", r.scale.busy, rate, rate*blockParts)
	return []row{{
		what: "event → database: " + load, figure: stored.String(),
		bound: "from the agent's last word to the commit's time in PostgreSQL: a commit of the journal, " +
			"an HTTP request, a commit of the database",
	}, {
		what: "event → browser: the same", figure: seen.Ends.String(),
		bound: "a commit of the journal, which comes before the part that completes the event",
	}, {
		what: "part → browser: the same, parts that complete no event", figure: seen.Parts.String(),
		bound: "nothing is written for them",
	}}
}

// busy checks in to tasks, attaches a reader to each and starts its turn.
func (r *run) busy(w *system, readers *peer) (sessions []*session) {
	for _, t := range r.checkIns(w.broker, r.scale.busy) {
		sessions = append(sessions, &session{host: w.host, id: t.id, token: t.StreamToken})
	}
	readers.do("Read", reading(sessions, 1, false))
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		sessions[i].begin(ctx, fmt.Sprintf("pace %s %d", r.scale.every, blockParts))
	})
	return sessions
}

// commits compares the end time of a block, which its text contains, with the time
// of the commit that stored it.
func (r *run) commits(w *system, from, until time.Time) spread {
	rows := must(r.connect(w.pg, "bellhop").Query(r.ctx, `SELECT body, pg_xact_commit_timestamp(xmin) FROM log WHERE type = 'text'`))
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
