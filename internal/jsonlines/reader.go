package jsonlines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is returned for a line over the reader's limit as soon as the limit is passed;
// more of the line may not have arrived yet.
var ErrTooLong = errors.New("line too long")

// keepBuffer is the largest line buffer kept for the next line, so that one image does not
// occupy memory for the whole session.
const keepBuffer = 64 << 10

// Reader splits a stream into lines of at most max bytes. It is not safe for
// concurrent use.
type Reader struct {
	r        *bufio.Reader
	max      int
	line     []byte
	skipping bool // inside the remainder of an overlong line
}

// NewReader reads lines of at most max bytes (without line ending) from r.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 32<<10), max: max}
}

// Next returns the next line without its "
// " or "\r
// "; it is valid until the next call. The last line needs no ending. After ErrTooLong the next
// call continues with the following line. Any other error is the stream's and final; io.EOF is
// its end.
func (l *Reader) Next() ([]byte, error) {
	if l.skipping {
		if err := l.skip(); err != nil {
			return nil, err
		}
	}
	if cap(l.line) > keepBuffer {
		l.line = nil
	}
	l.line = l.line[:0]
	for {
		piece, err := l.r.ReadSlice('\n')
		// One more byte is allowed for a "\r", which is not part of the line.
		if len(l.line)+len(bytes.TrimSuffix(piece, []byte("\n"))) > l.max+1 {
			l.skipping = !bytes.HasSuffix(piece, []byte("\n"))
			return nil, ErrTooLong
		}
		l.line = append(l.line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF) && len(l.line) > 0:
			return l.finish()
		default:
			return nil, err
		}
	}
}

func (l *Reader) finish() ([]byte, error) {
	line := bytes.TrimSuffix(l.line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > l.max {
		return nil, ErrTooLong
	}
	return line, nil
}

// skip discards the remainder of the overlong line.
func (l *Reader) skip() error {
	for {
		_, err := l.r.ReadSlice('\n')
		switch {
		case err == nil:
			l.skipping = false
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
