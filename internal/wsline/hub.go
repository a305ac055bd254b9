package wsline

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// Limits are the bounds of a hub; a zero field gets the default in its comment.
type Limits struct {
	QueueLines int // lines that a client may be behind: 4096
	QueueBytes int // bytes that a client may be behind: 32 MiB; must exceed the longest line
	Clients    int // clients per session: 64
	Transcript int // bytes kept, see Status.Full: 64 MiB
}

func (l Limits) withDefaults() Limits {
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

// Hub has one session's lines and clients. It is safe for concurrent use and never waits for a
// client.
type Hub struct {
	limits Limits
	now    func() time.Time

	mu       sync.Mutex
	hello    []byte // the first line for each client
	record   func(lines [][]byte)
	lines    *transcript
	watchers map[*Watcher]struct{}
	left     time.Time // when the last client left, the last turn ended, or the hub was created
	ended    bool
	code     websocket.StatusCode // the close code of the end
	reason   string
}

// NewHub returns a hub without clients.
func NewHub(limits Limits, now func() time.Time) *Hub {
	return &Hub{
		limits: limits.withDefaults(), now: now, lines: newTranscript(), watchers: map[*Watcher]struct{}{}, left: now(),
	}
}

// Record makes the hub pass the transcript's lines on, in order, each before a client gets it.
// The chunks of a text are passed on as one line when the text ends. It must be called before
// the first line; Trim and Forget must not be used with it.
func (h *Hub) Record(record func(lines [][]byte)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.record = record
}

// recorded passes the entries from an index on to the function of Record. Called under mu.
func (h *Hub) recorded(from int) {
	if h.record == nil || from == len(h.lines.entries) {
		return
	}
	var lines [][]byte
	for _, e := range h.lines.entries[from:] {
		lines = append(lines, e.raw)
	}
	h.record(lines)
}

// Publish records a line of the agent and sends it to every client.
func (h *Hub) Publish(line protocol.Line) {
	raw := encode(line)
	h.mu.Lock()
	defer h.mu.Unlock()
	from := len(h.lines.entries)
	h.lines.add(line, raw)
	h.recorded(from)
	if line.EndsTurn() {
		h.left = h.now()
	}
	h.fanOut(raw)
}

// Greet sets the line that each later client gets first.
func (h *Hub) Greet(line protocol.Line) {
	raw := encode(line)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hello = raw
}

// Accepted records a valid line of a client, before the lines that follow from it are
// published. An input is shown to the other clients; from may be nil.
func (h *Hub) Accepted(line protocol.Line, from *Watcher) {
	raw := encode(line)
	h.mu.Lock()
	defer h.mu.Unlock()
	first := len(h.lines.entries)
	h.lines.addUser(line, raw)
	h.recorded(first)
	if line.Type != protocol.LineInput {
		return
	}
	for w := range h.watchers {
		if w != from {
			w.push(raw)
		}
	}
}

// QuestionClosed records that a question ended without an answer, so that it is not replayed.
func (h *Hub) QuestionClosed(requestID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines.answer(requestID)
}

// Notice sends a line to every client without recording it, as it belongs to no session.
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

// Watch adds a client. The client gets the open turn so far with its unanswered questions, or
// the complete session if all is set; then every new line. Errors are CodeGone and
// CodeTooManyRequests. The caller must call Leave.
func (h *Hub) Watch(all bool) (*Watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return nil, protocol.Errorf(protocol.CodeGone, "The session has ended")
	case len(h.watchers) >= h.limits.Clients:
		return nil, protocol.Errorf(protocol.CodeTooManyRequests,
			"The session has %d clients, no more are let in", h.limits.Clients)
	}
	w := &Watcher{hub: h, replay: h.lines.replay(all), wake: make(chan struct{}, 1)}
	if h.hello != nil {
		w.replay = slices.Insert(w.replay, 0, h.hello)
	}
	w.signal()
	h.watchers[w] = struct{}{}
	return w, nil
}

// End disconnects all clients and rejects further ones.
func (h *Hub) End(code websocket.StatusCode, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.code, h.reason = true, code, reason
	for w := range h.watchers {
		w.end(code, reason)
	}
}

// History returns every line of the session so far, of the agent and of clients, in order. The
// chunks of a text are one line.
func (h *Hub) History() []json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lines.history()
}

// Status describes the session as its hub knows it.
type Status struct {
	Clients   int
	Busy      bool      // a turn is open
	Questions int       // open questions
	Left      time.Time // when the last client left or the last turn ended; zero while there are clients or a turn
	Full      bool      // the transcript has reached its bound: the owner should accept no more turns
}

// Status returns the current status.
func (h *Hub) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Status{
		Clients: len(h.watchers), Busy: h.lines.turn >= 0,
		Questions: len(h.lines.open), Full: h.lines.size >= h.limits.Transcript,
	}
	if s.Clients == 0 && !s.Busy {
		s.Left = h.left
	}
	return s
}

// Watcher is one client of a hub.
type Watcher struct {
	hub  *Hub
	wake chan struct{}

	// Guarded by hub.mu:
	replay [][]byte // not counted against the limits, since the client asked for it
	queue  [][]byte
	size   int
	ended  bool
	code   websocket.StatusCode
	reason string
}

// Send sends a line to this client only.
func (w *Watcher) Send(line protocol.Line) {
	raw := encode(line)
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.push(raw)
}

// push is called under hub.mu. It disconnects a client that is too far behind.
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

// take returns the next line. Without one, ended reports whether the session has ended;
// otherwise the client has to wait for wake.
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

// End ends the client's connection with a close frame, after the lines that it has not got yet.
func (w *Watcher) End(code websocket.StatusCode, reason string) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.end(code, reason)
}

// Leave removes the client from the hub. It may be called again.
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
