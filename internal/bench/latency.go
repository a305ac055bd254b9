package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"bellhop/client"
	"bellhop/protocol"
)

// blockParts is how many parts a text block has: its end is the event.
const blockParts = 10

// measureLatency follows events of busy sessions to the commit in PostgreSQL
// and to the browser, with one reader for every session.
func measureLatency(ctx context.Context, b *bench) (rows []row, err error) {
	w, err := b.openWhole(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	readers, err := startRole("readers")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, readers.stop()) }()
	ids, err := w.busy(ctx, b.scale, readers)
	if err != nil {
		return nil, err
	}
	time.Sleep(b.scale.round / 2) // warm
	var seen readerResult
	from := time.Now()
	if err := readers.order("measure", time.Duration(b.scale.rounds)*b.scale.round, &seen); err != nil {
		return nil, err
	}
	until := time.Now()
	err = together(ctx, len(ids), 8, func(ctx context.Context, i int) error { return w.host.interrupt(ctx, ids[i]) })
	if err != nil {
		return nil, err
	}
	stored, err := w.commits(ctx, from, until)
	if err != nil {
		return nil, err
	}
	rate := float64(stored.Count) / until.Sub(from).Seconds()
	load := fmt.Sprintf("%d busy sessions, %.0f events/s, %.0f parts/s", b.scale.busy, rate, rate*blockParts)
	return []row{
		{
			what: "event → database: " + load, figure: fmt.Sprintf("p50 %s, p99 %s", brief(stored.P50), brief(stored.P99)),
			bound: "from the agent's last word to the commit's time in PostgreSQL: a commit of the journal, an HTTP request, a commit of the database",
		},
		{
			what: "event → browser: the same", figure: fmt.Sprintf("p50 %s, p99 %s", brief(seen.Ends.P50), brief(seen.Ends.P99)),
			bound: "a commit of the journal, which comes before the part that completes the event",
		},
		{
			what: "part → browser: the same, parts that complete no event", figure: fmt.Sprintf("p50 %s, p99 %s", brief(seen.Parts.P50), brief(seen.Parts.P99)),
			bound: "nothing is written for them",
		},
	}, nil
}

// busy checks in to tasks, attaches a reader to each and starts its turn, as a
// frontend would.
func (w *whole) busy(ctx context.Context, sc scale, readers *peer) ([]string, error) {
	ids, err := w.broker.tasks(ctx, sc.busy)
	if err != nil {
		return nil, err
	}
	c := client.New(w.broker.url, client.Options{Token: w.broker.token})
	defer c.CloseIdleConnections()
	tokens := make([]string, len(ids))
	o := readerOrder{Address: strings.TrimPrefix(w.host.url, "http://"), Each: 1, Targets: make([]string, len(ids))}
	err = together(ctx, len(ids), 8, func(ctx context.Context, i int) error {
		in, err := c.CheckIn(ctx, &protocol.CheckInRequest{TaskID: ids[i], Message: "work"})
		if err != nil {
			return err
		}
		tokens[i] = in.StreamToken
		o.Targets[i] = "/stream/" + ids[i] + "?" + url.Values{"token": {in.StreamToken}, "follow": {"true"}}.Encode()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := readers.order("read", o, nil); err != nil {
		return nil, err
	}
	return ids, together(ctx, len(ids), 8, func(ctx context.Context, i int) error {
		return w.host.begin(ctx, ids[i], tokens[i], fmt.Sprintf("pace %s %d", sc.every, blockParts))
	})
}

// commits compares when agents said that a block ends, which stands in its text,
// with the time of the commit that stored it.
func (w *whole) commits(ctx context.Context, from, until time.Time) (spread, error) {
	conn, err := w.pg.connect(ctx, "bellhop")
	if err != nil {
		return spread{}, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT body, pg_xact_commit_timestamp(xmin) FROM events WHERE type = 'text'`)
	if err != nil {
		return spread{}, err
	}
	defer rows.Close()
	var times histogram
	for rows.Next() {
		var body []byte
		var committed time.Time
		if err := rows.Scan(&body, &committed); err != nil {
			return spread{}, err
		}
		at := time.Unix(0, markIn(body, endMark))
		if at.After(from) && at.Before(until) {
			times.add(committed.Sub(at))
		}
	}
	return times.spread(), rows.Err()
}
