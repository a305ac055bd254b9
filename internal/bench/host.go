package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// hostProcess is an agent host in a process of its own.
type hostProcess struct {
	*peer
	url  string
	data string
}

// host starts an agent host whose only agent is scripted, see play.
func (r *run) host(data string) *hostProcess {
	address := freeAddress(r.ctx)
	h := &hostProcess{peer: r.role("host"), url: "http://" + address, data: data}
	h.do("Serve", HostOrder{Listen: address, Data: data})
	h.ready(r.ctx, h.url)
	return h
}

func (h *hostProcess) footprint() Footprint { return ask[Footprint](h.peer, "Footprint", true) }

// system is a broker, its PostgreSQL and a host.
type system struct {
	pg     *cluster
	host   *hostProcess
	broker *brokerProcess
}

func (r *run) system() *system {
	w := &system{pg: r.cluster(), host: r.host(r.dir())}
	w.broker = r.broker(w.pg, w.host.url)
	r.onClose(w.host.stop) // before the broker: the host still has events to post
	return w
}

// hostRole is an agent host without the binary.
type hostRole struct{ *life }

// HostOrder is the configuration of a host.
type HostOrder struct{ Listen, Data string }

// Serve starts the host.
func (h *hostRole) Serve(o HostOrder, _ *bool) error {
	host, err := app.OpenHost(app.HostConfig{
		Listen: o.Listen, Password: seal.NewSecret(hostPassword), Data: o.Data,
		File:      app.HostFile{Default: "paced"},
		Providers: map[string]agenthost.Provider{"paced": &providertest.Fake{Play: play}},
		Log:       warnings(),
	})
	if err != nil {
		return err
	}
	return h.serve("host", host.Run)
}

// Footprint is the memory use of a host after a garbage collection.
type Footprint struct {
	Live, Resident int64 // bytes: heap objects and stacks; in RAM
	Goroutines     int
}

// Footprint measures the host's own process.
func (h *hostRole) Footprint(_ bool, out *Footprint) (err error) {
	debug.FreeOSMemory() // after a collection, all resident memory is in use
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if profile, err := createProfile("heap"); err != nil {
		return err
	} else if profile != nil { // the last profile overwrites earlier ones
		if err := errors.Join(pprof.Lookup("heap").WriteTo(profile, 0), profile.Close()); err != nil {
			return err
		}
	}
	out.Live, out.Goroutines = int64(m.HeapAlloc+m.StackInuse), runtime.NumGoroutine()
	self, err := procfs.Self()
	if err != nil {
		return err
	}
	used, err := self.Stat()
	out.Resident = int64(used.ResidentMemory())
	return err
}

// per returns the growth since an earlier footprint, divided by n.
func (f Footprint) per(n int, since Footprint) (live, resident string, goroutines float64) {
	each := float64(n)
	goroutines = float64(f.Goroutines-since.Goroutines) / each
	return kib(float64(f.Live-since.Live) / each), kib(float64(f.Resident-since.Resident) / each), goroutines
}

// Marks before a time in Unix nanoseconds, in the text of parts: when the agent
// wrote the part. A text block ends right after the part with endMark.
const (
	partMark = "said@"
	endMark  = "done@"
)

// play supports three prompts: "say WORDS", "bulk BYTES", and "pace EVERY N". The
// last one writes a part at every tick until it is interrupted, and ends the block
// after N parts.
func play(ctx context.Context, prompt agenthost.Prompt, out agenthost.Output) (agenthost.Outcome, error) {
	verb, rest, _ := strings.Cut(prompt.Text, " ")
	err := caught(func() {
		switch verb {
		case "bulk":
			bulk(rest, out)
		case "pace":
			pace(ctx, rest, out)
		default:
			check(errors.Join(out.Text(rest), out.EndText("")))
		}
	})
	if ctx.Err() != nil {
		err = nil // the turn was stopped: the fake reports how it ended
	}
	return agenthost.Outcome{}, err
}

func bulk(size string, out agenthost.Output) {
	const piece = 16 << 10
	for left := must(strconv.Atoi(size)); left > 0; left -= piece {
		check(out.Text(strings.Repeat("x", min(left, piece))))
	}
	check(out.EndText(""))
}

func pace(ctx context.Context, args string, out agenthost.Output) {
	every, n, _ := strings.Cut(args, " ")
	perBlock := must(strconv.Atoi(n))
	ticker := time.NewTicker(must(time.ParseDuration(every)))
	defer ticker.Stop()
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		mark, end := partMark, i%perBlock == 0
		if end {
			mark = endMark
		}
		check(out.Text("a few words " + mark + strconv.FormatInt(time.Now().UnixNano(), 10) + " "))
		if end {
			check(out.EndText(""))
		}
	}
}

// session is a session of a host.
type session struct {
	host      *hostProcess
	id, token string
	before    string // stream id before the first part; "" = unknown
}

// open calls the host's /session as a broker does. Without an id the session gets a
// new one.
func (h *hostProcess) open(ctx context.Context, req *protocol.OpenSessionRequest) *session {
	if req.SessionID == "" {
		req.SessionID = protocol.NewID()
	}
	var opened protocol.OpenSessionResponse
	check(json.Unmarshal(h.call(ctx, "/session", hostPassword, req), &opened))
	s := &session{host: h, id: req.SessionID, token: opened.Token}
	if opened.Cursor != nil {
		s.before = protocol.StreamID{Epoch: opened.Cursor.Epoch}.String()
	}
	return s
}

// prompt begins a turn and returns its stream.
func (s *session) prompt(ctx context.Context, text string) io.ReadCloser {
	return s.host.send(ctx, http.MethodPost, "/stream/"+s.id, s.token, &protocol.PromptRequest{Prompt: text})
}

// complete begins a turn and returns at its end.
func (s *session) complete(ctx context.Context, prompt string) { must(readAll(s.prompt(ctx, prompt))) }

// begin starts a turn and leaves its stream.
func (s *session) begin(ctx context.Context, prompt string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	check(s.prompt(ctx, prompt).Close())
}

// call posts and returns the response's body.
func (h *hostProcess) call(ctx context.Context, path, bearer string, body any) []byte {
	return must(readAll(h.send(ctx, http.MethodPost, path, bearer, body)))
}

// send returns the body of the host's response.
func (h *hostProcess) send(ctx context.Context, method, path, bearer string, body any) io.ReadCloser {
	var sent []byte
	if body != nil {
		sent = must(json.Marshal(body))
	}
	return must(request(ctx, method, h.url+path, "Bearer "+bearer, sent))
}

// reading returns an order for the streams of sessions of one host, from now on or
// from their beginning.
func reading(sessions []*session, each int, fromStart bool) ReaderOrder {
	o := ReaderOrder{Address: strings.TrimPrefix(sessions[0].host.url, "http://"), Each: each}
	for _, s := range sessions {
		query := url.Values{"token": {s.token}, "follow": {"true"}}
		if fromStart {
			query.Set("after", s.before)
		}
		o.Targets = append(o.Targets, "/stream/"+s.id+"?"+query.Encode())
	}
	return o
}
