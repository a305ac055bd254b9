package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxFrame is the longest frame that a Reader accepts, in bytes of its lines.
const MaxFrame = 8 << 20

// ErrFrameTooLarge ends reading a stream.
var ErrFrameTooLarge = fmt.Errorf("sse: frame over %d bytes", MaxFrame)

// Reader parses a stream by the WHATWG standard, with two differences: a frame has only its own
// id (LastID is the standard's "last event ID"), and an end of the stream within a frame is an
// error.
type Reader struct {
	// OnBytes, if set, is called whenever bytes arrive, including comments.
	OnBytes func()

	src    io.Reader
	chunk  []byte // bytes read but not parsed yet, a window of buf
	buf    []byte
	line   []byte // a line whose end has not arrived
	err    error
	lastID string
	began  bool // the first line was read
	skipLF bool // the previous line ended in CR
}

// NewReader reads frames from src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, buf: make([]byte, 16<<10)}
}

// LastID returns the id to resume after: the newest id of a complete frame, also of one without
// data, which Next does not return.
func (r *Reader) LastID() string { return r.lastID }

// Next returns the next frame that has data. At the end of the stream it returns io.EOF, or
// io.ErrUnexpectedEOF within a frame, whose beginning is dropped.
func (r *Reader) Next() (Frame, error) {
	var p pending
	for {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) && (p.size > 0 || len(r.line) > 0) {
			return Frame{}, io.ErrUnexpectedEOF
		}
		if err != nil {
			return Frame{}, err
		}
		if len(line) > 0 {
			if p.size += len(line); p.size > MaxFrame {
				r.err = ErrFrameTooLarge
				return Frame{}, r.err
			}
			p.field(line)
			continue
		}
		if p.hasID {
			r.lastID = p.frame.ID
		}
		if p.hasData {
			return p.frame, nil
		}
		p = pending{}
	}
}

// pending is a frame whose final empty line has not arrived.
type pending struct {
	frame   Frame
	hasID   bool
	hasData bool
	size    int
}

func (p *pending) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "": // a comment is not part of a frame
		if p.size -= len(line); p.size < 0 {
			p.size = 0
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			p.frame.ID, p.hasID = string(value), true
		}
	case "event":
		p.frame.Event = string(value)
	case "data":
		if p.hasData {
			p.frame.Data = append(p.frame.Data, '\n')
		}
		p.frame.Data = append(p.frame.Data, value...)
		p.hasData = true
	}
}

// readLine returns a line without its end; it is valid until the next call. A line is complete
// at its CR, because an LF after it may never arrive.
func (r *Reader) readLine() ([]byte, error) {
	if r.err != nil && len(r.chunk) == 0 {
		return nil, r.err
	}
	r.line = r.line[:0]
	for {
		if r.skipLF && len(r.chunk) > 0 {
			r.skipLF = false
			if r.chunk[0] == '\n' {
				r.chunk = r.chunk[1:]
			}
		}
		if end := bytes.IndexAny(r.chunk, "\r\n"); end >= 0 {
			line := r.chunk[:end]
			if len(r.line) > 0 {
				r.line = append(r.line, line...)
				line, r.line = r.line, r.line[:0]
			}
			r.skipLF = r.chunk[end] == '\r'
			r.chunk = r.chunk[end+1:]
			if !r.began {
				r.began = true
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			return line, nil
		}
		r.line = append(r.line, r.chunk...)
		if r.chunk = nil; len(r.line) > MaxFrame {
			r.err = ErrFrameTooLarge
		}
		if r.err == nil {
			r.fill()
		}
		if r.err != nil && len(r.chunk) == 0 {
			return nil, r.err
		}
	}
}

func (r *Reader) fill() {
	n, err := r.src.Read(r.buf)
	r.chunk, r.err = r.buf[:n], err
	if n > 0 && r.OnBytes != nil {
		r.OnBytes()
	}
}
