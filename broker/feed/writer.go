package feed

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"
)

// chunk is the number of bytes written under one write deadline; a large frame has
// several chunks.
const chunk = 64 << 10

// writer stands between r3labs and the connection. r3labs writes a frame in many
// small pieces, then flushes; the writer sends them as one write with a deadline.
// r3labs ignores write errors, so the writer ends the connection at the first one
// and drops all later frames, which lets r3labs drain its stream.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration // of one write
	http1   bool
	fail    context.CancelFunc
	window  *window // releases its oldest frame once that was sent

	buf bytes.Buffer

	mu     sync.Mutex // guards broken and the deadline
	broken bool
}

func (w *writer) WriteHeader(status int) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Del("Connection")
	if w.http1 {
		h.Set("Connection", "close") // the write deadline outlives the handler and must not hit a later request
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) { return w.buf.Write(p) }

// Flush sends one frame. The first call comes before any frame and sends the
// header.
func (w *writer) Flush() {
	head := w.buf.Len() == 0
	for w.buf.Len() > 0 {
		if !w.send(w.buf.Next(chunk)) {
			w.buf.Reset()
		}
	}
	if w.extend() {
		if err := w.control.Flush(); err != nil {
			w.cut()
		}
	}
	if w.buf.Cap() > chunk {
		w.buf = bytes.Buffer{}
	}
	if !head {
		w.window.release()
	}
}

func (w *writer) send(p []byte) bool {
	if !w.extend() {
		return false
	}
	if _, err := w.ResponseWriter.Write(p); err != nil {
		w.cut()
		return false
	}
	return true
}

// extend sets the deadline of the next write. Writers that support no deadline (in
// tests) get none.
func (w *writer) extend() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return false
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(w.limit))
	return true
}

// cut ends the connection immediately, even during a write.
func (w *writer) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return
	}
	w.broken = true
	_ = w.control.SetWriteDeadline(time.Unix(1, 0))
	w.fail()
}
