package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"bellhop/protocol"
)

// streaming is the processes of this figure; the broker is a stub.
type streaming struct {
	b       *bench
	dir     string
	hook    *stub
	host    *hostProcess
	readers *peer
	open    []session
}

type session struct {
	id, token string
	before    string // stream id before the backlog
}

// measureStream has many readers on one host, in turns with and without some
// that never read.
func measureStream(ctx context.Context, b *bench) (rows []row, err error) {
	s := &streaming{b: b}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	alone, err := s.host.footprint()
	if err != nil {
		return nil, err
	}
	if err := s.readers.order("read", s.order(s.open, s.b.scale.readers/len(s.open), false), nil); err != nil {
		return nil, err
	}
	idle, err := s.host.footprint()
	if err != nil {
		return nil, err
	}
	if err := s.pace(ctx); err != nil {
		return nil, err
	}
	r, err := s.rounds()
	if err != nil {
		return nil, err
	}
	busy, err := s.host.footprint()
	if err != nil {
		return nil, err
	}
	return s.rows(r, idle.sub(alone), busy.sub(alone)), nil
}

func (s *streaming) start(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "bellhop-bench-host-"); err != nil {
		return err
	}
	if s.hook, err = startStub(ctx); err != nil {
		return err
	}
	if s.host, err = s.b.startHost(ctx, s.dir); err != nil {
		return err
	}
	if s.readers, err = startRole("readers"); err != nil {
		return err
	}
	s.open = make([]session, s.b.scale.sessions)
	return together(ctx, len(s.open), 8, func(ctx context.Context, i int) error {
		id := protocol.NewID()
		answer, err := s.host.open(ctx, &protocol.OpenSessionRequest{SessionID: id, WebhookURL: s.hook.url + "/webhook"})
		if err != nil {
			return err
		}
		// The first frame of a session is behind this one.
		s.open[i] = session{id: id, token: answer.Token, before: protocol.StreamID{Epoch: answer.Cursor.Epoch}.String()}
		return s.host.start(ctx, id, answer.Token, fmt.Sprintf("bulk %d", s.b.scale.backlog))
	})
}

func (s *streaming) close() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.stop())
	}
	if s.host != nil {
		errs = append(errs, s.host.stop())
	}
	if s.hook != nil {
		errs = append(errs, s.hook.close())
	}
	transport.CloseIdleConnections()
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// order names the streams of sessions, from their beginning or as they go on.
func (s *streaming) order(sessions []session, each int, backlog bool) readerOrder {
	o := readerOrder{Address: strings.TrimPrefix(s.host.url, "http://"), Each: each}
	for _, one := range sessions {
		query := url.Values{"token": {one.token}, "follow": {"true"}}
		if backlog {
			query.Set("after", one.before)
		}
		o.Targets = append(o.Targets, "/stream/"+one.id+"?"+query.Encode())
	}
	return o
}

func (s *streaming) pace(ctx context.Context) error {
	return together(ctx, len(s.open), 8, func(ctx context.Context, i int) error {
		return s.host.begin(ctx, s.open[i].id, s.open[i].token, fmt.Sprintf("pace %s 100", s.b.scale.every))
	})
}

// paced is the results of the rounds of a kind.
type paced struct {
	p50, p99, worst []float64
	parts           uint64
	used            [2]time.Duration // host, readers
	elapsed         time.Duration
}

func (s *streaming) rounds() (r [2]paced, err error) {
	time.Sleep(s.b.scale.round / 2) // warm
	for range s.b.scale.rounds {
		if err := s.round(&r[0]); err != nil {
			return r, err
		}
		stuck := s.order(s.open[:min(s.b.scale.stalled, len(s.open))], 1, true)
		if err := s.readers.order("stall", stuck, nil); err != nil {
			return r, err
		}
		time.Sleep(s.b.scale.round / 10) // until the kernel takes no more for them
		if err := s.round(&r[1]); err != nil {
			return r, err
		}
		if err := s.readers.order("unstall", nil, nil); err != nil {
			return r, err
		}
		s.b.log("  p99 %s alone, %s beside stalled readers", brief(time.Duration(last(r[0].p99))), brief(time.Duration(last(r[1].p99))))
	}
	return r, nil
}

func last(v []float64) float64 { return v[len(v)-1] }

func (s *streaming) cpu() (used [2]time.Duration, err error) {
	if used[0], err = cpuOf(s.host.pid()); err != nil {
		return used, err
	}
	used[1], err = cpuOf(s.readers.pid())
	return used, err
}

func (s *streaming) round(p *paced) error {
	before, err := s.cpu()
	if err != nil {
		return err
	}
	var seen readerResult
	start := time.Now()
	if err := s.readers.order("measure", s.b.scale.round, &seen); err != nil {
		return err
	}
	p.elapsed += time.Since(start)
	after, err := s.cpu()
	if err != nil {
		return err
	}
	for i := range after {
		p.used[i] += after[i] - before[i]
	}
	p.parts += seen.Parts.Count
	p.p50 = append(p.p50, float64(seen.Parts.P50))
	p.p99 = append(p.p99, float64(seen.Parts.P99))
	p.worst = append(p.worst, float64(seen.Parts.Max))
	return nil
}

func (s *streaming) rows(r [2]paced, idle, busy footprint) []row {
	alone, beside := &r[0], &r[1]
	var ratios []float64
	for i := range alone.p99 {
		ratios = append(ratios, beside.p99[i]/alone.p99[i])
	}
	n := float64(s.b.scale.readers)
	return []row{
		{
			what: fmt.Sprintf("part → reader: %d readers on %d sessions, a part every %s in each", s.b.scale.readers, s.b.scale.sessions, s.b.scale.every),
			figure: fmt.Sprintf("p50 %s, p99 %s, longest %s; %.0f parts/s delivered", brief(time.Duration(median(alone.p50))),
				brief(time.Duration(median(alone.p99))), brief(time.Duration(maxOf(alone.worst))), float64(alone.parts)/alone.elapsed.Seconds()),
			bound: fmt.Sprintf("CPU: host %.2f, readers %.2f cores; a write and a read of a socket for every part and reader",
				alone.used[0].Seconds()/alone.elapsed.Seconds(), alone.used[1].Seconds()/alone.elapsed.Seconds()),
		},
		{
			what: fmt.Sprintf("the same beside %d readers that never read, %s behind", s.b.scale.stalled, kib(float64(s.b.scale.backlog))),
			figure: fmt.Sprintf("p50 %s, p99 %s, longest %s", brief(time.Duration(median(beside.p50))),
				brief(time.Duration(median(beside.p99))), brief(time.Duration(maxOf(beside.worst)))),
			beside: "without them, in turns: p99 " + brief(time.Duration(median(alone.p99))),
			ratio:  ratioOf(ratios),
			bound:  "they are cut after 5 s without progress",
		},
		{
			what: "memory and goroutines of a reader",
			figure: fmt.Sprintf("%s live (%s resident) idle, %s live (%s resident) streaming; %.2f goroutines",
				kib(float64(idle.Live)/n), kib(float64(idle.Resident)/n), kib(float64(busy.Live)/n), kib(float64(busy.Resident)/n), float64(busy.Goroutines)/n),
			bound: "net/http: two goroutines with their stacks and 10 KiB of buffers for a connection",
		},
	}
}
