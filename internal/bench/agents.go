package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"bellhop/protocol"
)

// subject is an agent whose figures are taken.
type subject struct {
	title string
	name  string         // in the host's configuration
	count string         // prompt for counting in N pieces, 100 ms apart
	mark  *regexp.Regexp // the number in such a piece
	tick  bool           // its events are heard beside the host; else a tee stamps its lines
}

var (
	ticks   = regexp.MustCompile(`tick(\d+)`)
	numbers = regexp.MustCompile(`"(\d+) "`) // of the demo agent
)

var (
	benchDemo     = subject{title: "jsonl (the demo agent)", name: "counter", count: "slow %d", mark: numbers}
	benchOpenCode = subject{title: "OpenCode", name: "opencode", count: "SLOW %d", mark: ticks, tick: true}
	benchAgents   = []subject{
		benchDemo, benchOpenCode,
		{title: "Claude Code", name: "claude", count: "SLOW %d", mark: ticks},
		{title: "Codex", name: "codex", count: "SLOW %d", mark: ticks},
		{title: "ACP (Gemini CLI)", name: "gemini", count: "SLOW %d", mark: ticks},
	}
)

// measureAgents runs real programs on a scripted model, one after another and
// then several at once.
func measureAgents(ctx context.Context, b *bench) (rows []row, err error) {
	if b.bellhop == "" || b.agents == "" {
		return nil, errors.New("agents need -bellhop and -agents: use scripts/bench-agents")
	}
	h, err := b.startAgentHost(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	for _, a := range benchAgents {
		r, err := h.figures(ctx, b, a, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		rows = append(rows, r...)
	}
	for _, crowd := range []struct {
		agent subject
		n     int
	}{{benchDemo, b.scale.workspaces}, {benchOpenCode, b.scale.servers}} {
		r, err := h.figures(ctx, b, crowd.agent, crowd.n)
		if err != nil {
			return nil, fmt.Errorf("%d of %s: %w", crowd.n, crowd.agent.name, err)
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

// figures of n workspaces of an agent at a time.
func (h *agentHost) figures(ctx context.Context, b *bench, a subject, n int) ([]row, error) {
	b.log("%d of %s", n, a.name)
	sessions := make([]*agentSession, n)
	err := together(ctx, n, n, func(ctx context.Context, i int) (err error) {
		sessions[i], err = h.openAgent(ctx, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer h.leave(sessions)
	cold, err := firstWords(ctx, sessions)
	if err != nil {
		return nil, err
	}
	warm, err := firstWords(ctx, sessions)
	if err != nil {
		return nil, err
	}
	var resident float64
	for _, s := range sessions {
		used, err := s.resident()
		if err != nil {
			return nil, err
		}
		resident += float64(used) / float64(n)
	}
	what := a.title
	if n > 1 {
		what = fmt.Sprintf("%d workspaces of %s at once", n, a.title)
	}
	first, err := h.latencyRow(ctx, b.scale, sessions, what)
	if err != nil {
		return nil, err
	}
	return []row{
		first,
		{
			what:   "start: " + what + ", from the first prompt to the first words",
			figure: brief(cold),
			beside: "the second prompt: " + brief(warm),
			ratio:  fmt.Sprintf("%.1f", per(cold, warm)),
			bound:  "the program's own start; the second prompt is the program and its model alone",
		},
		{
			what:   "memory of the programs: " + what,
			figure: digits(resident/(1<<20)) + " MiB resident a workspace",
			bound:  "the program; what processes share is counted in each",
		},
	}, nil
}

func per(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// latencyRow takes rounds of pieces, so that one bad moment of the machine is one
// round's.
func (h *agentHost) latencyRow(ctx context.Context, sc scale, sessions []*agentSession, what string) (row, error) {
	var p50, p99, bare50, bare99 []time.Duration
	var middle, late []float64
	var pieces uint64
	for range sc.rounds {
		added, bare, err := h.latency(ctx, sessions, sc.pieces)
		if err != nil {
			return row{}, err
		}
		said, asked := added.spread(), bare.spread()
		pieces += said.Count
		p50, p99 = append(p50, said.P50), append(p99, said.P99)
		bare50, bare99 = append(bare50, asked.P50), append(bare99, asked.P99)
		middle, late = append(middle, per(said.P50, asked.P50)), append(late, per(said.P99, asked.P99))
	}
	return row{
		what:   fmt.Sprintf("agent → browser: %s, %d rounds of %d pieces of text", what, sc.rounds, pieces/uint64(sc.rounds)),
		figure: fmt.Sprintf("p50 %s, p99 %s", brief(median(p50)), brief(median(p99))),
		beside: fmt.Sprintf("GET /healthz of the host meanwhile: p50 %s, p99 %s", brief(median(bare50)), brief(median(bare99))),
		ratio:  ratioOf(middle) + " at p50, " + ratioOf(late) + " at p99",
		bound:  "two changes of process, and JSON on both sides of the host; nothing is written for such a part",
	}, nil
}

// firstWords has all sessions say something, and tells the longest it took.
func firstWords(ctx context.Context, sessions []*agentSession) (time.Duration, error) {
	took := make([]time.Duration, len(sessions))
	err := together(ctx, len(sessions), len(sessions), func(ctx context.Context, i int) (err error) {
		start := time.Now()
		var first time.Time
		err = sessions[i].turn(ctx, "hello", func(p *protocol.Part, at time.Time) {
			if first.IsZero() && p.Type == protocol.PartTextDelta {
				first = at
			}
		})
		took[i] = first.Sub(start)
		return err
	})
	var longest time.Duration
	for _, t := range took {
		longest = max(longest, t)
	}
	return longest, err
}
