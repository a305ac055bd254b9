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
	w       http.ResponseWriter
	rc      *http.ResponseController
	inner   *http.ResponseController // nil if rc's Flush reports errors
	timeout time.Duration
	err     error
}

// NewWriter sends status 200 and the headers of an event stream. It lifts the read deadline of
// the request, which would otherwise end the stream. The first write reports a failure.
func NewWriter(w http.ResponseWriter, opts WriterOptions) *Writer {
	if opts.WriteTimeout <= 0 {
		opts.WriteTimeout = WriteTimeout
	}
	s := &Writer{w: w, rc: http.NewResponseController(w), timeout: opts.WriteTimeout}
	s.inner = reporter(w)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Del("Content-Length")
	s.recordError(supported(s.rc.SetReadDeadline(time.Time{})))
	s.deadline()
	if s.err == nil {
		w.WriteHeader(http.StatusOK)
		s.flush()
	}
	return s
}

// Write sends one encoded frame, or several in one slice, and flushes.
func (s *Writer) Write(encoded []byte) error { return s.WriteBatch([][]byte{encoded}) }

// WriteBatch sends encoded frames under one deadline and flushes once.
func (s *Writer) WriteBatch(batch [][]byte) error {
	s.deadline()
	for _, encoded := range batch {
		if s.err != nil {
			return s.err
		}
		_, err := s.w.Write(encoded)
		s.recordError(err)
	}
	s.flush()
	return s.err
}

func (s *Writer) deadline() {
	if s.err == nil {
		s.recordError(supported(s.rc.SetWriteDeadline(time.Now().Add(s.timeout))))
	}
}

func (s *Writer) flush() {
	if s.err == nil {
		s.recordError(s.rc.Flush())
	}
	if s.err == nil && s.inner != nil {
		s.recordError(s.inner.Flush())
	}
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

func (s *Writer) recordError(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("sse: write: %w", err)
	}
}

// supported ignores that a test recorder has no deadlines.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
