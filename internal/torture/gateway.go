//go:build linux

package torture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"bellhop/internal/testenv/faultproxy"
)

// Lies and delays of a gateway, as they are counted in the report.
const (
	lieSuccess   = "lie: 200 success, not forwarded"
	lieAfter     = "lie: 200 success instead of the answer"
	liePage      = "lie: 200 with a page"
	lieRefuse    = "lie: 400 without a code"
	lieGone      = "lie: 410 without a code"
	badGateway   = "502, not forwarded"
	answerLost   = "answer lost"
	requestLost  = "request lost"
	duplicated   = "request duplicated"
	repeatedLate = "request repeated late"
	reordered    = "request overtaken by later ones"
	delayed      = "request delayed"
)

// lies returns what a gateway may do to requests of a link.
func lies() []string {
	return []string{
		lieSuccess, lieAfter, liePage, lieRefuse, lieGone, badGateway, answerLost, requestLost,
		duplicated, repeatedLate, reordered, delayed,
	}
}

// gateway is a reverse proxy that interprets HTTP and treats some requests badly, in front of
// one of several targets. A TCP proxy in front of it breaks whole connections.
type gateway struct {
	name   string
	tcp    *faultproxy.Proxy
	server *http.Server
	// onPair observes what really passed, before the sender has the answer; may be nil. It gets what
	// before returned when the request was passed on.
	onPair func(exchange)
	before func() int64

	mu      sync.Mutex
	rng     *rand.Rand
	targets []*url.URL
	lie     string  // "" = none
	share   float64 // of the requests that it concerns
	counts  map[string]int

	late    sync.WaitGroup // requests that are repeated or held
	serving sync.WaitGroup
	end     context.CancelFunc
	ctx     context.Context
}

// exchange is a request with the answer that its target really gave.
type exchange struct {
	before int64
	path   string
	body   []byte
	status int
	answer []byte
}

func newGateway(ctx context.Context, name string, seed uint64, targets ...string) (*gateway, error) {
	g := &gateway{name: name, rng: rand.New(rand.NewPCG(seed, 7)), counts: map[string]int{}}
	g.ctx, g.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, target := range targets {
		u, err := url.Parse(target)
		if err != nil {
			return nil, err
		}
		g.targets = append(g.targets, u)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: startLimit}
	g.serving.Go(func() { _ = g.server.Serve(l) })
	if g.tcp, err = faultproxy.New(l.Addr().String()); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *gateway) url() string { return "http://" + g.tcp.Addr() }

func (g *gateway) close() error {
	if g.tcp != nil {
		g.tcp.Close()
	}
	g.end()
	err := g.server.Close()
	g.serving.Wait()
	g.late.Wait()
	return err
}

// set makes the gateway treat a share of its requests with one lie; "" ends that.
func (g *gateway) set(lie string, share float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lie, g.share = lie, share
}

func (g *gateway) counted() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.counts)
}

// choose decides about one request.
func (g *gateway) choose() (lie string, target *url.URL, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lie != "" && g.rng.Float64() < g.share {
		lie = g.lie
		g.counts[lie]++
	}
	return lie, g.targets[g.rng.IntN(len(g.targets))], time.Duration(50+g.rng.IntN(1500)) * time.Millisecond
}

const maxBody = 16 << 20

// ServeHTTP implements http.Handler.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	lie, target, wait := g.choose()
	switch lie {
	case lieSuccess:
		answer(w, http.StatusOK, "application/json", `{"success":true}`)
	case liePage:
		answer(w, http.StatusOK, "text/html", "<html>Welcome to this network</html>")
	case lieRefuse:
		answer(w, http.StatusBadRequest, "application/json", `{"error":"Bad Request"}`)
	case lieGone:
		answer(w, http.StatusGone, "text/plain", "gone")
	case badGateway:
		answer(w, http.StatusBadGateway, "text/html", "<html>Bad Gateway</html>")
	case requestLost:
		panic(http.ErrAbortHandler)
	case lieAfter, answerLost:
		g.repeat(r, target, body)
		if lie == answerLost {
			panic(http.ErrAbortHandler)
		}
		answer(w, http.StatusOK, "application/json", `{"success":true}`)
	case reordered:
		g.later(r, target, body, wait)
		answer(w, http.StatusGatewayTimeout, "text/plain", "upstream took too long")
	case delayed:
		if pause(r.Context(), wait) {
			g.forward(w, r, target, body)
		}
	case duplicated:
		g.repeat(r, target, body)
		g.forward(w, r, target, body)
	case repeatedLate:
		g.later(r, target, body, wait)
		g.forward(w, r, target, body)
	default:
		g.forward(w, r, target, body)
	}
}

func answer(w http.ResponseWriter, status int, media, body string) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// forward passes request and answer on, streams included.
func (g *gateway) forward(w http.ResponseWriter, r *http.Request, target *url.URL, body []byte) {
	before := g.begin()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	proxy := httputil.ReverseProxy{
		Transport: plain, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ModifyResponse: func(resp *http.Response) error {
			return g.observe(before, r.URL.Path, body, resp)
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     discard,
	}
	proxy.ServeHTTP(w, r)
}

func (g *gateway) begin() int64 {
	if g.before == nil {
		return 0
	}
	return g.before()
}

// observe reports an exchange of a link that is observed, and leaves the answer readable.
func (g *gateway) observe(before int64, path string, body []byte, resp *http.Response) error {
	if g.onPair == nil {
		return nil
	}
	received, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(received))
	g.onPair(exchange{before: before, path: path, body: body, status: resp.StatusCode, answer: received})
	return nil
}

// repeat sends a copy of the request and drops the answer.
func (g *gateway) repeat(r *http.Request, target *url.URL, body []byte) {
	ctx, cancel := context.WithTimeout(g.ctx, 5*time.Second)
	defer cancel()
	before := g.begin()
	out := r.Clone(ctx)
	out.RequestURI, out.Host = "", target.Host
	out.URL.Scheme, out.URL.Host = target.Scheme, target.Host
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp, err := plain.RoundTrip(out)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if g.observe(before, r.URL.Path, body, resp) == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// later is repeat after a delay.
func (g *gateway) later(r *http.Request, target *url.URL, body []byte, wait time.Duration) {
	copied := r.Clone(context.WithoutCancel(r.Context()))
	g.late.Go(func() {
		if pause(g.ctx, wait) {
			g.repeat(copied, target, body)
		}
	})
}

// discard is for a proxy whose every second request fails on purpose.
var discard = log.New(io.Discard, "", 0)
