package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bellhop/client"
	"bellhop/protocol"
)

// measureCheckIn times POST /api/agent and, in turns, the host's /session alone.
func measureCheckIn(ctx context.Context, b *bench) (rows []row, err error) {
	w, err := b.openWhole(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	hook, err := startStub(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hook.close()) }()
	for _, callers := range []int{1, b.scale.callers} {
		r, err := w.checkIns(ctx, hook.url+"/webhook", b.scale.checkIns, callers)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// checkIns alternates: every caller checks in to a new task, then opens a new
// session on the host itself.
func (w *whole) checkIns(ctx context.Context, webhook string, n, callers int) (row, error) {
	ids, err := w.broker.tasks(ctx, n)
	if err != nil {
		return row{}, err
	}
	c := client.New(w.broker.url, client.Options{Token: w.broker.token})
	defer c.CloseIdleConnections()
	var through, bare histogram
	err = together(ctx, n, callers, func(ctx context.Context, i int) error {
		start := time.Now()
		if _, err := c.CheckIn(ctx, &protocol.CheckInRequest{TaskID: ids[i], Message: "work"}); err != nil {
			return err
		}
		through.add(time.Since(start))
		req := &protocol.OpenSessionRequest{
			SessionID: protocol.NewID(), WebhookURL: webhook, Cursor: &protocol.Cursor{}, Turn: &protocol.AnnouncedTurn{ID: protocol.NewID()},
		}
		start = time.Now()
		if _, err := w.host.open(ctx, req); err != nil {
			return err
		}
		bare.add(time.Since(start))
		return nil
	})
	if err != nil {
		return row{}, err
	}
	t, h := through.spread(), bare.spread()
	return row{
		what:   fmt.Sprintf("check-in to new tasks, %d at a time", callers),
		figure: fmt.Sprintf("p50 %s, p99 %s", brief(t.P50), brief(t.P99)),
		beside: fmt.Sprintf("the host's /session alone: p50 %s, p99 %s", brief(h.P50), brief(h.P99)),
		ratio:  fmt.Sprintf("%.1f at p50, %.1f at p99", float64(t.P50)/float64(h.P50), float64(t.P99)/float64(h.P99)),
		bound:  "two commits of the broker (message, outcome) and one of the journal, one after another",
	}, nil
}

// whole is broker, PostgreSQL and host.
type whole struct {
	dir    string
	pg     *cluster
	host   *hostProcess
	broker *brokerProcess
}

func (b *bench) openWhole(ctx context.Context) (w *whole, err error) {
	w = &whole{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(ctx))
		}
	}()
	if w.dir, err = os.MkdirTemp("", "bellhop-bench-host-"); err != nil {
		return w, err
	}
	if w.pg, err = startCluster(ctx); err != nil {
		return w, err
	}
	if err := w.pg.exec(ctx, "CREATE DATABASE bellhop"); err != nil {
		return w, err
	}
	if w.host, err = b.startHost(ctx, w.dir); err != nil {
		return w, err
	}
	w.broker, err = b.startBroker(ctx, w.pg.url("bellhop"), w.host.url)
	return w, err
}

// close ends the host first: it still has something to post.
func (w *whole) close(ctx context.Context) error {
	var errs []error
	if w.host != nil {
		errs = append(errs, w.host.stop())
	}
	if w.broker != nil {
		errs = append(errs, w.broker.stop())
	}
	if w.pg != nil {
		errs = append(errs, w.pg.stop(ctx))
	}
	transport.CloseIdleConnections()
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}
