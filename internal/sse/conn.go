package sse

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// ErrLeft ends Serve when the peer of a taken connection has left.
var ErrLeft = errors.New("sse: the peer left")

// TakeWriter is NewWriter, but takes the connection from net/http where that is possible: on
// plain HTTP/1.1. Taken reports whether it did. A taken connection costs a silent reader one
// goroutine and no buffer. The peer sees the same headers and frames, and "Connection: close",
// because no later request can be served.
//
// The owner of a taken connection should return from the handler, which releases what net/http
// holds for it, and write in a goroutine of its own. The request's context ends with the handler.
// The owner calls Close at the end of the stream, taken or not.
func TakeWriter(w http.ResponseWriter, r *http.Request, opts WriterOptions) *Writer {
	can := canTake(w, r)
	if can {
		w.Header().Set("Connection", "close")
	}
	s := NewWriter(w, opts)
	if !can || s.err != nil {
		return s
	}
	taken, _, err := s.response.control.Hijack() // the buffer holds what came after the request, which is ignored
	if err != nil {
		return s
	}
	s.response, s.conn = nil, &conn{Conn: taken}
	return s
}

// Taken reports whether the writer has taken the connection from net/http.
func (s *Writer) Taken() bool { return s.conn != nil }

// Close ends a taken connection. The peer sees the regular end of the response, unless a write
// failed. Otherwise Close does nothing: the response ends with its handler.
func (s *Writer) Close() {
	if s.conn == nil {
		return
	}
	if s.err == nil {
		s.recordError(s.conn.end(time.Now().Add(s.timeout)))
	}
	_ = s.conn.Close() // the stream has ended
	s.recordError(net.ErrClosed)
}

// Abort closes a taken connection at once, also during a write. It may be called by any goroutine.
func (s *Writer) Abort() {
	if s.conn != nil {
		_ = s.conn.Close() // the response lacks its end, so the peer notices the cut
	}
}

// canTake reports whether a connection can be taken and its response be chunked: not with HTTP/2,
// TLS, HTTP/1.0, or a writer that has no connection.
func canTake(w http.ResponseWriter, r *http.Request) bool {
	if r.ProtoMajor != 1 || r.ProtoMinor < 1 || r.TLS != nil || r.Method == http.MethodHead {
		return false
	}
	for { // wrappers have the method even if what they wrap has not
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			_, ok = w.(http.Hijacker)
			return ok
		}
		w = wrapper.Unwrap()
	}
}

// conn is a connection that was taken after the headers of a chunked response.
type conn struct {
	net.Conn
	ignored [64]byte // what the peer sends after its request
}

// maxCopied is the largest batch that is copied, so that it needs one buffer and one write.
const maxCopied = 64 << 10

// buffers holds the buffers of the connections that are writing now.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 2<<10)
	return &b
}}

// write sends a batch as one chunk.
func (c *conn) write(batch [][]byte, deadline time.Time) error {
	n := size(batch)
	if n == 0 { // an empty chunk would end the response
		return nil
	}
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	head := append(strconv.AppendInt((*buffer)[:0], int64(n), 16), "\r\n"...)
	if n > maxCopied {
		pieces := append(append(net.Buffers{head}, batch...), []byte("\r\n"))
		_, err := pieces.WriteTo(c.Conn)
		return err
	}
	chunk := head
	for _, encoded := range batch {
		chunk = append(chunk, encoded...)
	}
	chunk = append(chunk, "\r\n"...)
	*buffer = chunk[:0]
	_, err := c.Write(chunk)
	return err
}

// end sends the chunk that ends the response.
func (c *conn) end(deadline time.Time) error {
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err := io.WriteString(c.Conn, "0\r\n\r\n")
	return err
}

// sleep waits in Read, so that the goroutine that writes also notices that the peer has left. It
// returns nil when wake was called or the read deadline has passed.
func (c *conn) sleep() error {
	_, err := c.Read(c.ignored[:])
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, io.EOF):
		return ErrLeft
	default:
		return errors.Join(ErrLeft, err)
	}
}

// wake ends sleep, also one that has not begun.
func (c *conn) wake() {
	_ = c.SetReadDeadline(time.Unix(1, 0)) // fails only if the connection is closed, which ends sleep too
}

// serve is Serve on a taken connection.
func (s *Writer) serve(ctx context.Context, sub *Subscription, opts ServeOptions) error {
	stop := context.AfterFunc(ctx, func() { sub.end(context.Cause(ctx)) })
	defer stop()
	var reuse [][]byte
	for due := time.Now().Add(opts.Ping); ; {
		batch, err := sub.swap(reuse)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(batch) > 0 {
			wrote, err := opts.write(s, batch)
			if err != nil {
				return err
			}
			if wrote {
				due = time.Now().Add(opts.Ping)
			}
			reuse = spare(batch)
			continue
		}
		if !time.Now().Before(due) {
			if err := s.Write(Ping); err != nil {
				return err
			}
			due = time.Now().Add(opts.Ping)
		}
		if sub.arm(s.conn, due) {
			if err := s.conn.sleep(); err != nil {
				return err
			}
		}
	}
}
