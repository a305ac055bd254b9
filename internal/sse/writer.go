package sse

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// WriteTimeout bounds one write to a peer (reliability SSE-3).
const WriteTimeout = 5 * time.Second

// WriterOptions are the settings of a Writer; the zero value selects the defaults.
type WriterOptions struct {
	WriteTimeout time.Duration // 0 = WriteTimeout
}

// Writer writes an event stream as the response to a request. It is not safe for concurrent
// use. After an error every further write fails.
type Writer struct {
	response *response // nil once conn has taken the connection
	conn     *conn
	timeout  time.Duration
	written  int64
	err      error
}

// NewWriter sends status 200 and the headers of an event stream. It lifts the read deadline of
// the request, which would otherwise end the stream. The first write reports a failure.
func NewWriter(w http.ResponseWriter, opts WriterOptions) *Writer {
	if opts.WriteTimeout <= 0 {
		opts.WriteTimeout = WriteTimeout
	}
	s := &Writer{response: newResponse(w), timeout: opts.WriteTimeout}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Del("Content-Length")
	s.recordError(supported(s.response.control.SetReadDeadline(time.Time{})))
	if s.err == nil {
		s.recordError(s.response.begin(time.Now().Add(s.timeout)))
	}
	return s
}

// Write sends one encoded frame, or several in one slice, and flushes.
func (s *Writer) Write(encoded []byte) error { return s.WriteBatch([][]byte{encoded}) }

// WriteBatch sends encoded frames under one deadline and flushes once.
func (s *Writer) WriteBatch(batch [][]byte) error {
	if s.err != nil {
		return s.err
	}
	deadline := time.Now().Add(s.timeout)
	if s.conn != nil {
		s.recordError(s.conn.write(batch, deadline))
	} else {
		s.recordError(s.response.write(batch, deadline))
	}
	if s.err == nil {
		s.written += int64(size(batch))
	}
	return s.err
}

// Written returns the bytes of the batches that were written completely.
func (s *Writer) Written() int64 { return s.written }

func (s *Writer) recordError(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("sse: write: %w", err)
	}
}

func size(batch [][]byte) (n int) {
	for _, encoded := range batch {
		n += len(encoded)
	}
	return n
}

// response writes with net/http.
type response struct {
	w       http.ResponseWriter
	control *http.ResponseController
	inner   *http.ResponseController // nil if control's Flush reports errors
}

func newResponse(w http.ResponseWriter) *response {
	return &response{w: w, control: http.NewResponseController(w), inner: reporter(w)}
}

// begin sends the status and the headers.
func (r *response) begin(deadline time.Time) error {
	if err := supported(r.control.SetWriteDeadline(deadline)); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusOK)
	return r.flush()
}

func (r *response) write(batch [][]byte, deadline time.Time) error {
	if err := supported(r.control.SetWriteDeadline(deadline)); err != nil {
		return err
	}
	for _, encoded := range batch {
		if _, err := r.w.Write(encoded); err != nil {
			return err
		}
	}
	return r.flush()
}

func (r *response) flush() error {
	if err := r.control.Flush(); err != nil || r.inner == nil {
		return err
	}
	return r.inner.Flush()
}

// reporter returns the innermost writer that reports whether a flush failed. Wrappers such as
// Echo's have a Flush without an error, so that a dead peer would be noticed one write late.
func reporter(w http.ResponseWriter) *http.ResponseController {
	for wrapped := false; ; wrapped = true {
		if _, reports := w.(interface{ FlushError() error }); reports {
			if wrapped {
				return http.NewResponseController(w)
			}
			return nil
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = wrapper.Unwrap()
	}
}

// supported ignores that a test recorder has no deadlines.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
