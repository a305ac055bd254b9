package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"bellhop/internal/sse"
	"bellhop/internal/wait"
	"bellhop/protocol"
)

// subject is an agent that is measured.
type subject struct{ title, name, model string }

var (
	demo     = subject{title: "jsonl (the demo agent)", name: "counter"}
	openCode = subject{title: "OpenCode", name: "opencode", model: "openai-compatible/mock-1"}
	claude   = subject{title: "Claude Code", name: "claude"}
	codex    = subject{title: "Codex", name: "codex", model: "gpt-5.5"}
	gemini   = subject{title: "ACP (Gemini CLI)", name: "gemini"}
)

// agents runs real programs on a scripted model, one after another and then
// several at once.
func agents(r *run) (rows []row) {
	if r.bellhop == "" || r.agents == "" || r.model == "" {
		check(errors.New("the figure agents needs --agents and --model: use scripts/bench-agents"))
	}
	h := r.agentHost()
	for _, a := range []subject{demo, openCode, claude, codex, gemini} {
		rows = append(rows, h.figures(a, 1)...)
	}
	rows = append(rows, h.figures(demo, r.scale.workspaces)...)
	return append(rows, h.figures(openCode, r.scale.servers)...)
}

// figures measures n workspaces of an agent at a time.
func (h *agentHost) figures(a subject, n int) []row {
	h.log("%d of %s", n, a.name)
	all := make([]*session, n)
	h.parallel(n, n, func(ctx context.Context, i int) {
		all[i] = h.open(ctx, &protocol.OpenSessionRequest{WebhookURL: h.hook, Agent: a.name, Model: a.model})
	})
	defer h.leave(all)
	cold, warm := h.firstWords(all), h.firstWords(all)
	var resident float64
	for _, s := range all {
		resident += float64(s.resident()) / float64(n)
	}
	what := a.title
	if n > 1 {
		what = fmt.Sprintf("%d workspaces of %s at once", n, a.title)
	}
	// Several rounds, so that a short disturbance of the machine affects only one of them.
	var t turns[spread]
	for range h.scale.rounds {
		own, yard := h.latency(all)
		t.own, t.yard = append(t.own, own), append(t.yard, yard)
	}
	return []row{
		spreadRow(fmt.Sprintf("agent → browser: %s, %d rounds of %d pieces of text", what, h.scale.rounds, last(t.own).Count),
			t, "GET /healthz meanwhile",
			"two changes of process, JSON on both sides of the host"),
		{
			what:   "start: " + what,
			figure: brief(cold),
			beside: "the second prompt: " + brief(warm),
			ratio:  fmt.Sprintf("%.1f", float64(cold)/float64(max(warm, 1))),
			bound:  "the program's own start",
		},
		{
			what:   "memory of the programs: " + what,
			figure: digits(resident/(1<<20)) + " MiB a workspace",
			bound:  "the program",
		},
	}
}

// leave ends the sessions' programs. A session that does not end now ends with the
// host.
func (h *agentHost) leave(all []*session) {
	for _, s := range all {
		_ = caught(func() {
			check(h.send(context.Background(), http.MethodDelete, "/session/"+s.id, hostPassword, nil).Close())
		})
	}
}

// prompt sends a prompt to all sessions and calls see with each piece of text of
// session i, until all turns have ended.
func (h *agentHost) prompt(all []*session, prompt string, see func(i int, text string, at time.Time)) {
	h.parallel(len(all), len(all), func(ctx context.Context, i int) {
		all[i].turn(ctx, prompt, func(text string, at time.Time) { see(i, text, at) })
	})
}

// firstWords returns the longest time until the first words of a session.
func (h *agentHost) firstWords(all []*session) time.Duration {
	took, start := make([]time.Duration, len(all)), time.Now()
	h.prompt(all, "hello", func(i int, _ string, at time.Time) {
		if took[i] == 0 {
			took[i] = at.Sub(start)
		}
	})
	return slices.Max(took)
}

// latency makes all sessions count at once, and meanwhile requests the host's health.
func (h *agentHost) latency(all []*session) (added, bare spread) {
	var pieces, healths samples
	asking, stop := context.WithCancel(h.ctx)
	var asked sync.WaitGroup
	asked.Go(func() {
		for wait.For(asking, 50*time.Millisecond) {
			start := time.Now()
			if answers(asking, h.url+"/healthz") {
				healths.add(time.Since(start))
			}
		}
	})
	defer asked.Wait()
	defer stop()
	h.prompt(all, fmt.Sprintf("SLOW %d", h.scale.pieces), func(_ int, text string, at time.Time) {
		if written := markIn([]byte(text), partMark); written > 0 {
			pieces.add(time.Duration(at.UnixNano() - written))
		}
	})
	want := len(all) * h.scale.pieces
	if n := pieces.count(); n < want*9/10 || n > want {
		check(fmt.Errorf("%d stamped pieces of %d were read", n, want))
	}
	return pieces.spread(), healths.spread()
}

// turn reads the text of a turn until its end.
func (s *session) turn(ctx context.Context, prompt string, see func(text string, at time.Time)) {
	body := s.prompt(ctx, prompt)
	defer body.Close()
	for in := sse.NewReader(body); ; {
		frame, err := in.Next()
		at := time.Now()
		if errors.Is(err, io.EOF) {
			err = errors.New("the turn has no end")
		}
		check(err)
		var p protocol.Part
		check(json.Unmarshal(frame.Data, &p))
		switch {
		case p.Type == protocol.PartTextDelta && p.Text != nil:
			see(*p.Text, at)
		case p.Type == protocol.PartFinish:
			return
		case p.Terminal():
			check(fmt.Errorf("the turn ended with %s", frame.Data))
		}
	}
}

// resident returns the memory of a session's programs in bytes: the processes with
// its id in their environment, without tees.
func (s *session) resident() (sum int) {
	self := must(os.Executable())
	for _, p := range must(procfs.AllProcs()) { // a process may end meanwhile, or belong to another user
		env, err := p.Environ()
		exe, _ := p.Executable()
		if err != nil || exe == "" || exe == self || !strings.Contains(strings.Join(env, "\n"), s.id) {
			continue
		}
		if used, err := p.Stat(); err == nil {
			sum += used.ResidentMemory()
		}
	}
	return sum
}
