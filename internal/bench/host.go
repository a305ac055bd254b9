package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
)

// hostRole is an agent host whose only agent is scripted.
type hostRole struct {
	stopProfile func()
	cancel      context.CancelFunc
	done        chan error
}

type hostOrder struct {
	Listen string `json:"listen"`
	Data   string `json:"data"`
}

// footprint is what a host holds, after a collection.
type footprint struct {
	Live       int64 `json:"live"` // bytes of heap objects and stacks
	Resident   int64 `json:"resident"`
	Goroutines int   `json:"goroutines"`
}

func (f footprint) sub(o footprint) footprint {
	return footprint{Live: f.Live - o.Live, Resident: f.Resident - o.Resident, Goroutines: f.Goroutines - o.Goroutines}
}

func (h *hostRole) obey(ctx context.Context, do string, with json.RawMessage) (any, error) {
	switch do {
	case "serve":
		o, err := decode[hostOrder](with)
		if err != nil {
			return nil, err
		}
		return nil, h.serve(ctx, o)
	case "footprint":
		return measureSelf()
	}
	return nil, fmt.Errorf("cannot %s", do)
}

func (h *hostRole) serve(ctx context.Context, o hostOrder) (err error) {
	if h.stopProfile, err = startProfile("host"); err != nil {
		return err
	}
	host, err := app.OpenHost(app.HostConfig{
		Listen: o.Listen, Password: seal.NewSecret(hostPassword), Data: o.Data,
		File:      app.HostFile{Default: "paced"},
		Providers: map[string]agenthost.Provider{"paced": &providertest.Fake{Play: play}},
		Log:       slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	ctx, h.cancel = context.WithCancel(ctx)
	h.done = make(chan error, 1)
	go func() { h.done <- host.Run(ctx) }()
	return nil
}

func (h *hostRole) close() error {
	if h.cancel == nil {
		return nil
	}
	h.cancel()
	err := <-h.done
	h.stopProfile()
	return err
}

func measureSelf() (footprint, error) {
	debug.FreeOSMemory() // after a collection; what is resident then is used
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	resident, err := residentOf(os.Getpid())
	return footprint{
		Live: int64(m.HeapAlloc + m.StackInuse), Resident: resident, Goroutines: runtime.NumGoroutine(),
	}, err
}

// Marks before a time in Unix nanoseconds, in the text of parts: when the agent
// said it. A text block ends right after the part that has endMark.
const (
	partMark = "said@"
	endMark  = "done@"
)

// play understands three prompts: "say WORDS", "bulk BYTES", and "pace EVERY N",
// which says a part at every tick, until it is interrupted, and ends the block
// after N.
func play(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	verb, rest, _ := strings.Cut(prompt.Text, " ")
	var err error
	switch verb {
	case "bulk":
		err = bulk(rest, out)
	case "pace":
		err = pace(ctx, rest, out)
	default:
		err = errors.Join(out.Text(rest), out.EndText(""))
	}
	if ctx.Err() != nil {
		return agenthost.Outcome{}, nil // the fake says how it ended
	}
	return agenthost.Outcome{}, err
}

func bulk(size string, out agenthost.Output) error {
	left, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	const piece = 16 << 10
	for ; left > 0; left -= piece {
		if err := out.Text(strings.Repeat("x", min(left, piece))); err != nil {
			return err
		}
	}
	return out.EndText("")
}

func pace(ctx context.Context, args string, out agenthost.Output) error {
	every, n, _ := strings.Cut(args, " ")
	gap, err1 := time.ParseDuration(every)
	perBlock, err2 := strconv.Atoi(n)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	ticker := time.NewTicker(gap)
	defer ticker.Stop()
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		mark, end := partMark, i%perBlock == 0
		if end {
			mark = endMark
		}
		err := out.Text("a few words " + mark + strconv.FormatInt(time.Now().UnixNano(), 10) + " ")
		if err == nil && end {
			err = out.EndText("")
		}
		if err != nil {
			return err
		}
	}
}

// hostProcess is a host in a process of its own.
type hostProcess struct {
	*peer
	url  string
	data string
}

func (b *bench) startHost(ctx context.Context, data string) (*hostProcess, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p, err := startRole("host", profileVariable+"="+b.profile)
	if err != nil {
		return nil, err
	}
	h := &hostProcess{peer: p, url: "http://" + address, data: data}
	if err := h.order("serve", hostOrder{Listen: address, Data: data}, nil); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, h.ready(ctx, h.url)
}

func (h *hostProcess) footprint() (f footprint, err error) {
	err = h.order("footprint", nil, &f)
	return f, err
}
