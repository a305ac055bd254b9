//go:build full

package e2e

import (
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/internal/testenv"
	"bellhop/internal/testenv/lies"
)

// lyingGateway stands at the address of a server, which moves to another one, and lies about a third of its requests.
type lyingGateway struct {
	lies.Gateway

	mu   sync.Mutex
	all  []lies.Lie
	next int
	left int // lies that it will tell
}

// put moves a server behind a gateway at its address.
func (g *lyingGateway) put(t *testing.T, server *node, listen, address string) {
	t.Helper()
	behind := freeAddr(t)
	server.env = append(server.env, listen+"="+behind)
	g.Next = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: behind})
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	g.Lies = g.choose
	var l net.Listener
	eventually(t, "the gateway has the server's address", func() (ok bool) {
		var err error
		l, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		return err == nil
	})
	front := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { _ = front.Serve(l); close(done) }()
	t.Cleanup(func() { _ = front.Close(); <-done })
}

// choose lies about every third request, one lie after the other.
func (g *lyingGateway) choose(r *http.Request) *lies.Lie {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	if g.left == 0 || g.next%3 != 0 || strings.HasSuffix(r.URL.Path, "z") {
		return nil
	}
	g.left--
	return &g.all[g.left%len(g.all)]
}

// lie tells every lie of the corpus so often.
func (g *lyingGateway) lie(rounds int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = lies.All()
	g.left = rounds * len(g.all)
}

// Gateways in front of broker and host answer in their place, and swap their answers: host → broker, broker → host, and
// the client's requests to both. Nothing is lost, doubled, dropped, stopped or aborted, and no user sees another
// session. Everything recovers by itself.
func TestLiesOnEveryEdgeLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	rounds := testenv.Rounds(t)
	s := prepareStack(t, sqlite)
	var toBroker, toHost lyingGateway
	toBroker.put(t, s.broker, "BELLHOP_LISTEN", s.brokerAddr)
	toHost.put(t, s.host, "BELLHOP_HOST_LISTEN", s.hostAddr)
	s.host.start()
	s.broker.start()
	l := newLoad(s, 4)
	toBroker.lie(rounds)
	toHost.lie(rounds)
	seed, given := givenSeed(t)
	if !given {
		seed = rand.Uint64N(seeds)
	}
	t.Logf("BELLHOP_SEED=%d repeats what users do", seed)
	l.start(t.Context(), seed)
	want := 2 * rounds * (len(toBroker.all) - 2) // some have no answer to be swapped with
	for toBroker.Told()+toHost.Told() < want && t.Context().Err() == nil {
		pause(t.Context(), 100*time.Millisecond)
	}
	toBroker.lie(0)
	toHost.lie(0)
	conclude(t, s, l)
	t.Logf("%d lies", toBroker.Told()+toHost.Told())
}
