package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/agenthost/setup"
	known "bellhop/internal/app/agents"
	"bellhop/internal/testenv/mockllm"
	"bellhop/protocol"
)

// subject is an agent that is measured.
type subject struct {
	title string
	name  string         // in the host's configuration
	count string         // prompt for counting in N pieces, 100 ms apart
	mark  *regexp.Regexp // the number in such a piece
	tick  bool           // its events are read in parallel with the host; otherwise a tee stamps its lines
}

var (
	ticks   = regexp.MustCompile(`tick(\d+)`)
	numbers = regexp.MustCompile(`"(\d+) "`) // of the demo agent

	demo     = subject{title: "jsonl (the demo agent)", name: "counter", count: "slow %d", mark: numbers}
	openCode = subject{title: "OpenCode", name: "opencode", count: "SLOW %d", mark: ticks, tick: true}
	claude   = subject{title: "Claude Code", name: "claude", count: "SLOW %d", mark: ticks}
	codex    = subject{title: "Codex", name: "codex", count: "SLOW %d", mark: ticks}
	gemini   = subject{title: "ACP (Gemini CLI)", name: "gemini", count: "SLOW %d", mark: ticks}
)

// agents runs real programs on a scripted model, one after another and then
// several at once.
func agents(r *run) (rows []row) {
	if r.bellhop == "" || r.agents == "" {
		check(errors.New("agents need -bellhop and -agents: use scripts/bench-agents"))
	}
	h := r.agentHost()
	for _, c := range []struct {
		subject
		n int
	}{
		{demo, 1},
		{openCode, 1},
		{claude, 1},
		{codex, 1},
		{gemini, 1},
		{demo, r.scale.workspaces},
		{openCode, r.scale.servers},
	} {
		if err := caught(func() { rows = append(rows, h.figures(c.subject, c.n)...) }); err != nil {
			check(fmt.Errorf("%d of %s: %w", c.n, c.name, err))
		}
	}
	return rows
}

// figures measures n workspaces of an agent at a time.
func (h *agentHost) figures(a subject, n int) []row {
	h.log("%d of %s", n, a.name)
	sessions := make([]*agentSession, n)
	h.parallel(n, n, func(ctx context.Context, i int) { sessions[i] = h.openAgent(ctx, a) })
	defer h.leave(sessions)
	cold, warm := h.firstWords(sessions), h.firstWords(sessions)
	var resident float64
	for _, s := range sessions {
		resident += float64(s.resident()) / float64(n)
	}
	what := a.title
	if n > 1 {
		what = fmt.Sprintf("%d workspaces of %s at once", n, a.title)
	}
	return []row{h.latencyRow(sessions, what), {
		what:   "start: " + what + ", from the first prompt to the first words",
		figure: brief(cold),
		beside: "the second prompt: " + brief(warm),
		ratio:  fmt.Sprintf("%.1f", float64(cold)/float64(max(warm, 1))),
		bound:  "the program's own start; the second prompt is the program and its model alone",
	}, {
		what:   "memory of the programs: " + what,
		figure: digits(resident/(1<<20)) + " MiB resident a workspace",
		bound:  "the program; what processes share is counted in each",
	}}
}

// latencyRow measures several rounds of pieces, so that a short disturbance of the
// machine affects only one of them.
func (h *agentHost) latencyRow(sessions []*agentSession, what string) row {
	var added, bare spreads
	var pieces int
	for range h.scale.rounds {
		a, b := h.latency(sessions, h.scale.pieces)
		added, bare = append(added, a.spread()), append(bare, b.spread())
		pieces += last(added).Count
	}
	return row{
		what: fmt.Sprintf("agent → browser: %s, %d rounds of %d pieces of text", what, h.scale.rounds,
			pieces/h.scale.rounds),
		figure: added.String(),
		beside: "GET /healthz of the host meanwhile: " + bare.String(),
		ratio:  ratio(added.p50(), bare.p50()) + " at p50, " + ratio(added.p99(), bare.p99()) + " at p99",
		bound:  "two changes of process, and JSON on both sides of the host; nothing is written for such a part",
	}
}

// firstWords sends a prompt to all sessions and returns the longest time until the
// first words.
func (h *agentHost) firstWords(sessions []*agentSession) time.Duration {
	took := make([]time.Duration, len(sessions))
	h.parallel(len(sessions), len(sessions), func(ctx context.Context, i int) {
		start := time.Now()
		sessions[i].turn(ctx, "hello", func(p *protocol.Part, at time.Time) {
			if took[i] == 0 && p.Type == protocol.PartTextDelta {
				took[i] = at.Sub(start)
			}
		})
	})
	return slices.Max(took)
}

// latency makes all sessions count at once, and meanwhile requests the host's
// health.
func (h *agentHost) latency(sessions []*agentSession, pieces int) (added, bare *samples) {
	added, bare = &samples{}, &samples{}
	asking, stop := context.WithCancel(h.ctx)
	var asked sync.WaitGroup
	asked.Go(func() { h.healths(asking, bare) })
	defer asked.Wait()
	defer stop()
	h.parallel(len(sessions), len(sessions), func(ctx context.Context, i int) {
		written, read := sessions[i].counts(ctx, pieces)
		if n := written.lags(read, added); n < pieces*9/10 {
			check(fmt.Errorf("session %s: %d pieces of %d were seen on both sides", sessions[i].id, n, pieces))
		}
	})
	return added, bare
}

// healths measures a round trip every 50 ms.
func (h *agentHost) healths(ctx context.Context, into *samples) {
	for tick := time.Tick(50 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		start := time.Now()
		if answers(ctx, h.url+"/healthz") {
			into.add(time.Since(start))
		}
	}
}

// agentHost is `bellhop host` with real agents on a scripted model. A stub receives
// the host's events.
type agentHost struct {
	*run
	*hostProcess
	dir  string
	hook string // of a stub
}

func (r *run) agentHost() *agentHost {
	h := &agentHost{run: r, dir: r.dir(), hook: r.stub().hook}
	model, address := r.serve(mockllm.NewServer(time.Millisecond)), freeAddress(r.ctx)
	c := r.child([]string{r.bellhop, "host"},
		"BELLHOP_HOST_LISTEN="+address, "BELLHOP_HOST_PASSWORD="+hostPassword, "BELLHOP_LOG_LEVEL=warn",
		"BELLHOP_HOST_DATA="+r.dir(), "BELLHOP_HOST_CONFIG="+h.configure(), "BELLHOP_AGENTS_DIR="+r.agents,
		"ANTHROPIC_BASE_URL="+model, "ANTHROPIC_API_KEY=none", "OPENAI_BASE_URL="+model+"/v1", "OPENAI_API_KEY=none",
		"GOOGLE_GEMINI_BASE_URL="+model, "GEMINI_API_KEY=none")
	h.hostProcess = &hostProcess{peer: &peer{child: c}, url: "http://" + address}
	h.ready(r.ctx, h.url)
	return h
}

// configure writes the host's configuration, with a tee before every agent that
// writes to stdout.
func (h *agentHost) configure() string {
	cache := must(known.OpenCache(h.agents))
	configured := map[string]any{}
	tee := func(a subject, kind string, command []string) {
		configured[a.name] = map[string]any{"kind": kind, "command": []string{h.tee(a, command)}}
	}
	tee(demo, "jsonl", []string{h.bellhop, "agent", "--stdio"})
	for _, a := range []subject{claude, codex, gemini} {
		tee(a, a.name, must(cache.Find(h.ctx, a.name, setup.Want{})).Command)
	}
	path := filepath.Join(h.dir, "host.yaml")
	forTees := map[string][]string{"read": {must(os.Executable()), h.bellhop}, "write": {h.dir}}
	file := must(json.Marshal(map[string]any{"agents": configured, "sandbox": forTees}))
	check(os.WriteFile(path, file, 0o600)) // JSON is YAML
	return path
}

// tee writes a program that runs an agent's command and stamps its lines.
func (h *agentHost) tee(a subject, command []string) string {
	words := append([]string{must(os.Executable()), h.dir, a.mark.String()}, command...)
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	path := filepath.Join(h.dir, a.name)
	script := fmt.Sprintf("#!/bin/sh\n%s=tee exec %s \"$@\"\n", roleVariable, strings.Join(words, " "))
	check(os.WriteFile(path, []byte(script), 0o700)) //nolint:gosec // a program
	return path
}
