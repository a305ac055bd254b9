// Package lies has answers of things that are neither a broker nor a host: gateways, proxies, portals, and answers that
// were cut, changed, delayed or given to another request. The tests of every edge between two programs share them
// (docs/protocol.md, "Whose answer it is"). The tests in TypeScript read the same file.
package lies

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed lies.json
var corpus []byte

// Lie is one such answer. How says how it arrives:
//
//	""        as it is
//	cut       the connection ends within the body
//	short     Content-Length is less than the body
//	slow      half of the body comes later
//	gzip      compressed
//	gzip-cut  compressed, and the connection ends within the body
//	close     no answer
//	stale     what the server answered to an earlier request of the same route
//	swapped   what the server answered to another request
type Lie struct {
	Name    string            `json:"name"`
	Status  int               `json:"status"` // 0 if the answer is not of the lie
	Type    string            `json:"type"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers"`
	How     string            `json:"how"`
}

// All returns every lie.
func All() []Lie {
	var all []Lie
	if err := json.Unmarshal(corpus, &all); err != nil {
		panic(err)
	}
	return all
}

// pause is the time that a slow body takes.
const pause = 50 * time.Millisecond

// Write answers a request with a lie that has an answer of its own.
func (l *Lie) Write(w http.ResponseWriter) {
	header, body := w.Header(), []byte(l.Body)
	if l.Type != "" {
		header.Set("Content-Type", l.Type)
	}
	for name, value := range l.Headers {
		header.Set(name, value)
	}
	if l.How == "gzip" || l.How == "gzip-cut" {
		header.Set("Content-Encoding", "gzip")
		body = compressed(body)
	}
	switch l.How {
	case "close":
		panic(http.ErrAbortHandler)
	case "cut", "gzip-cut":
		header.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(l.Status)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "short":
		header.Set("Content-Length", strconv.Itoa(len(body)-9))
		w.WriteHeader(l.Status)
		_, _ = w.Write(body[:len(body)-9])
	case "slow":
		w.WriteHeader(l.Status)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		time.Sleep(pause)
		_, _ = w.Write(body[len(body)/2:])
	default:
		w.WriteHeader(l.Status)
		if l.Status != http.StatusNoContent && l.Status != http.StatusNotModified {
			_, _ = w.Write(body)
		}
	}
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body)
	_ = w.Close()
	return out.Bytes()
}

// Gateway passes requests to a server, and lies when it is told to. It is safe for concurrent use.
type Gateway struct {
	Next http.Handler
	// Lies decides about a request: the lie, or nil. It is called in turn.
	Lies func(*http.Request) *Lie

	told atomic.Int64

	mu   sync.Mutex
	last map[string]*answer // of Next, by method and path
}

// Told returns how many lies were told.
func (g *Gateway) Told() int { return int(g.told.Load()) }

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	lie := g.Lies(r)
	g.mu.Unlock()
	switch {
	case lie == nil:
		g.forward(w, r)
		return
	case lie.How == "stale", lie.How == "swapped":
		if !g.another(w, r, lie.How == "stale") {
			g.forward(w, r)
			return
		}
	default:
		g.told.Add(1)
		lie.Write(w)
		return
	}
	g.told.Add(1)
}

// another answers with what Next answered to an earlier request: of the same route, or of another one. It reports whether
// there was one.
func (g *Gateway) another(w http.ResponseWriter, r *http.Request, same bool) bool {
	g.mu.Lock()
	var kept *answer
	for route, answer := range g.last {
		if (route == r.Method+" "+r.URL.Path) == same {
			kept = answer
			break
		}
	}
	g.mu.Unlock()
	if kept == nil {
		return false
	}
	if !same { // the request arrives, and its answer goes elsewhere
		ctx, cancel := context.WithTimeout(r.Context(), arrival)
		defer cancel()
		g.forward(httptest.NewRecorder(), r.WithContext(ctx))
	}
	maps.Copy(w.Header(), kept.header)
	w.WriteHeader(kept.status)
	_, _ = w.Write(kept.body)
	return true
}

// arrival is how long a request is served whose answer nobody gets. It may be a stream.
const arrival = time.Second

// forward passes a request on, and keeps the answer unless it is a stream.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request) {
	kept := &keeper{ResponseWriter: w}
	defer func() {
		if recover() != nil { // of a proxy whose server or client has gone
			panic(http.ErrAbortHandler)
		}
	}()
	g.Next.ServeHTTP(kept, r)
	if kept.status < http.StatusOK || strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	kept.header = w.Header().Clone()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		g.last = map[string]*answer{}
	}
	g.last[r.Method+" "+r.URL.Path] = &kept.answer
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// keeper keeps what is written, up to a limit.
type keeper struct {
	http.ResponseWriter
	answer
}

const mostKept = 1 << 20

func (k *keeper) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

func (k *keeper) Write(p []byte) (int, error) {
	if k.status == 0 {
		k.status = http.StatusOK
	}
	if len(k.body) < mostKept {
		k.body = append(k.body, p...)
	}
	return k.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush and hijack.
func (k *keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
