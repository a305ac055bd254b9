package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bellhop/protocol"
)

// measureIdle fills a host with sessions that have done a turn each, then kills
// and restarts it.
func measureIdle(ctx context.Context, b *bench) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "bellhop-bench-host-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	hook, err := startStub(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hook.close()) }()
	host, err := b.startHost(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		transport.CloseIdleConnections()
		err = errors.Join(err, host.stop())
	}()
	f := &filling{host: host, n: b.scale.idle}
	if err := f.fill(ctx, hook.url+"/webhook"); err != nil {
		return nil, err
	}
	restarted, took, err := b.restart(ctx, host)
	if err != nil {
		return nil, err
	}
	host = restarted
	after, err := host.footprint()
	if err != nil {
		return nil, err
	}
	return f.rows(after, took), nil
}

// filling is a host before and after it got its sessions.
type filling struct {
	host        *hostProcess
	n           int
	empty, full footprint
	took        time.Duration
}

func (f *filling) fill(ctx context.Context, webhook string) (err error) {
	if f.empty, err = f.host.footprint(); err != nil {
		return err
	}
	start := time.Now()
	err = together(ctx, f.n, 16, func(ctx context.Context, _ int) error {
		id := protocol.NewID()
		answer, err := f.host.open(ctx, &protocol.OpenSessionRequest{SessionID: id, WebhookURL: webhook})
		if err != nil {
			return err
		}
		return f.host.start(ctx, id, answer.Token, "say something that is worth an event")
	})
	f.took = time.Since(start)
	if err != nil {
		return err
	}
	transport.CloseIdleConnections()
	f.full, err = f.host.footprint()
	return err
}

// restart kills a host, as a crash would, and starts it on the same data.
func (b *bench) restart(ctx context.Context, host *hostProcess) (*hostProcess, time.Duration, error) {
	_ = host.cmd.Process.Kill()
	<-host.done
	start := time.Now()
	again, err := b.startHost(ctx, host.data)
	return again, time.Since(start), err
}

func (f *filling) rows(after footprint, took time.Duration) []row {
	n := float64(f.n)
	return []row{
		{
			what: fmt.Sprintf("memory of an idle session, %d of them, one turn each", f.n),
			figure: fmt.Sprintf("%s live, %s resident; after a restart %s live, %s resident",
				kib(float64(f.full.Live-f.empty.Live)/n), kib(float64(f.full.Resident-f.empty.Resident)/n),
				kib(float64(after.Live-f.empty.Live)/n), kib(float64(after.Resident-f.empty.Resident)/n)),
			bound: fmt.Sprintf("the frames of the last turn, kept for readers that resume; %.2f goroutines a session", float64(f.full.Goroutines-f.empty.Goroutines)/n),
		},
		{
			what:   fmt.Sprintf("restart after SIGKILL with %d sessions", f.n),
			figure: brief(took) + " until /readyz",
			beside: fmt.Sprintf("opening them and running their turns took %s", brief(f.took)),
			bound:  "reading every session's record from the journal",
		},
	}
}
