package treereader

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Serve reads a request of WriteRequest, reads the tree, and writes the answer. The process is the reader alone, with
// the rights of the session's programs or less.
func Serve(in io.Reader, out io.Writer) error { return serve(in, out, time.Now, func() {}) }

// serve is Serve with a clock, and with a function that runs before each use of a name.
func serve(in io.Reader, out io.Writer, now func() time.Time, step func()) error {
	request, known, err := readRequest(in)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	root, err := openDirectory(request.Root, step)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.close()
	e := newEncoder(out)
	w := &walker{
		request: request, known: known, seen: make([]bool, len(known)), root: root, tell: e.fact, now: now,
	}
	err = w.run()
	var limit *LimitError
	switch {
	case errors.As(err, &limit):
		e.b = append(e.b, frameLimit)
		e.number(uint64(max(slices.Index(limits[:], limit.Err), 0)))
	case err != nil:
		return err
	default:
		e.b = append(e.b, frameEnd)
	}
	if err := e.write(); err != nil {
		return err
	}
	return e.flush()
}
