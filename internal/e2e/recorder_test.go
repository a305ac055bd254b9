package e2e

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"bellhop/internal/sse"
)

// recorder is the transport of one reader of one turn. Below the client that interprets them,
// it records every byte of the host's streams.
type recorder struct {
	mu    sync.Mutex
	conns []*recordedConn
}

type recordedConn struct {
	mu     sync.Mutex
	method string
	after  string // Last-Event-ID
	status int
	body   bytes.Buffer
}

// RoundTrip records responses of /stream.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(strings.TrimPrefix(req.URL.Path, "/api/agent"), "/stream/") { // the host's own, or relayed
		return transport.RoundTrip(req)
	}
	conn := &recordedConn{method: req.Method, after: req.Header.Get("Last-Event-ID")}
	r.mu.Lock()
	r.conns = append(r.conns, conn)
	r.mu.Unlock()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	conn.mu.Lock()
	conn.status = resp.StatusCode
	conn.mu.Unlock()
	resp.Body = &recordedBody{ReadCloser: resp.Body, conn: conn}
	return resp, nil
}

type recordedBody struct {
	io.ReadCloser
	conn *recordedConn
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.conn.mu.Lock()
	defer b.conn.mu.Unlock()
	b.conn.body.Write(p[:n])
	return n, err
}

// connections returns the recorded bytes as complete frames.
func (r *recorder) connections() []connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []connection
	for _, c := range r.conns {
		c.mu.Lock()
		if c.status == http.StatusOK {
			out = append(out, connection{Method: c.method, After: c.after, Frames: parseFrames(c.body.Bytes())})
		}
		c.mu.Unlock()
	}
	return out
}

func parseFrames(body []byte) []seenFrame {
	var frames []seenFrame
	reader := sse.NewReader(bytes.NewReader(body))
	for {
		frame, err := reader.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return frames
		}
		if err != nil {
			return append(frames, seenFrame{Data: "unreadable: " + err.Error()})
		}
		frames = append(frames, seenFrame{ID: frame.ID, Data: string(frame.Data)})
	}
}
