package wsline

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// Limits are the bounds of a hub; zero ones are replaced by the defaults.
type Limits struct {
	QueueLines int // lines a client may be behind: 4096
	QueueBytes int // bytes a client may be behind: 32 MiB; more than the longest line
	Clients    int // of one session: 64
	Transcript int // bytes kept; Full says when it is reached: 64 MiB
}

func (l Limits) fill() Limits {
	for _, d := range []struct {
		value *int
		is    int
	}{{&l.QueueLines, 4096}, {&l.QueueBytes, 32 << 20}, {&l.Clients, 64}, {&l.Transcript, 64 << 20}} {
		if *d.value <= 0 {
			*d.value = d.is
		}
	}
	return l
}

// Hub is one session's lines and the clients that watch it. It is safe for
// concurrent use and never waits for a client.
type Hub struct {
	limits Limits
	now    func() time.Time

	mu       sync.Mutex
	lines    *transcript
	watchers map[*Watcher]struct{}
	left     time.Time // when the last client left, or the hub was made
	ended    bool
	code     websocket.StatusCode // of the end
	reason   string
}

// NewHub returns a hub without clients.
func NewHub(limits Limits, now func() time.Time) *Hub {
	return &Hub{limits: limits.fill(), now: now, lines: newTranscript(), watchers: map[*Watcher]struct{}{}, left: now()}
}

// Publish records a line of the agent and hands it to every client.
func (h *Hub) Publish(line protocol.Line) {
	raw := encode(line)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines.add(line, raw)
	h.fanOut(raw)
}

// Accepted records a line of a client that changed the session, before what
// follows from it is published.
func (h *Hub) Accepted(line protocol.Line) {
	raw := encode(line)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines.addUser(line, raw)
}

// Withdrawn says that a question ended without an answer: it is not shown again.
func (h *Hub) Withdrawn(requestID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines.answer(requestID)
}

// Notice hands a line to every client without recording it: it belongs to no
// session.
func (h *Hub) Notice(line protocol.Line) {
	raw := encode(line)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fanOut(raw)
}

func (h *Hub) fanOut(raw []byte) {
	for w := range h.watchers {
		w.push(raw)
	}
}

// Watch lets a client in. It is shown the open turn so far, with questions that
// nobody has answered, or with all the whole session; then every line to come.
// Its errors have codes gone and too_many_requests. The caller calls Leave.
func (h *Hub) Watch(all bool) (*Watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return nil, protocol.Errorf(protocol.CodeGone, "The session has ended")
	case len(h.watchers) >= h.limits.Clients:
		return nil, protocol.Errorf(protocol.CodeTooManyRequests, "The session has %d clients, no more are let in", h.limits.Clients)
	}
	w := &Watcher{hub: h, replay: h.lines.replay(all), wake: make(chan struct{}, 1)}
	w.signal()
	h.watchers[w] = struct{}{}
	return w, nil
}

// End lets no more clients in and sends those that are there away.
func (h *Hub) End(code websocket.StatusCode, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.code, h.reason = true, code, reason
	for w := range h.watchers {
		w.end(code, reason)
	}
}

// History is every line of the session so far, both ways, in order; the chunks
// of a text are one line.
func (h *Hub) History() []json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lines.history()
}

// Status is what a hub knows of its session.
type Status struct {
	Clients   int
	Busy      bool      // a turn is open
	Questions int       // open ones
	Left      time.Time // when the last client left; zero while there are some
	Full      bool      // the transcript has reached its bound: no more turns, please
}

// Status returns the present one.
func (h *Hub) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Status{
		Clients: len(h.watchers), Busy: h.lines.turn >= 0, Questions: len(h.lines.open), Full: h.lines.size >= h.limits.Transcript,
	}
	if s.Clients == 0 {
		s.Left = h.left
	}
	return s
}

// Watcher is one client's place in a hub.
type Watcher struct {
	hub  *Hub
	wake chan struct{}

	// Behind hub.mu.
	replay [][]byte // not counted: the client asked for it
	queue  [][]byte
	size   int
	ended  bool
	code   websocket.StatusCode
	reason string
}

// Send hands a line to this client alone.
func (w *Watcher) Send(line protocol.Line) {
	raw := encode(line)
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.push(raw)
}

// push is called under hub.mu. A client that is too far behind is cut.
func (w *Watcher) push(raw []byte) {
	if w.ended {
		return
	}
	limits := w.hub.limits
	if len(w.queue) >= limits.QueueLines || len(w.queue) > 0 && w.size+len(raw) > limits.QueueBytes {
		w.queue, w.replay = nil, nil
		w.end(websocket.StatusPolicyViolation, "the client reads too slowly")
		return
	}
	w.queue = append(w.queue, raw)
	w.size += len(raw)
	w.signal()
}

func (w *Watcher) end(code websocket.StatusCode, reason string) {
	if !w.ended {
		w.ended, w.code, w.reason = true, code, reason
		w.signal()
	}
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take returns the next line; none and ended at the end, none alone if the
// client has to wait for wake.
func (w *Watcher) take() (line []byte, ended bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	switch {
	case len(w.replay) > 0:
		line, w.replay = w.replay[0], w.replay[1:]
	case len(w.queue) > 0:
		line, w.queue = w.queue[0], w.queue[1:]
		w.size -= len(line)
	default:
		return nil, w.ended
	}
	return line, false
}

// Leave gives the place up. It may be called again.
func (w *Watcher) Leave() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if _, ok := w.hub.watchers[w]; !ok {
		return
	}
	delete(w.hub.watchers, w)
	w.ended = true
	w.hub.left = w.hub.now()
}
