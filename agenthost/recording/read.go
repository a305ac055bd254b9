package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Entry is one line of a recording: the beginning of a run, or an input.
type Entry struct {
	File string
	Line int // from 1

	// Part is the number of the run's file that this line begins: 1 for the first file of a
	// run of the host. It is 0 for an input. At is the time of the beginning or the input.
	Part int
	At   time.Time

	Session string
	Input   core.Recorded
}

// Read returns the entries of a recording, in order, from its rotated files too; path is
// as in Options. An error about one line does not end it: the next line follows. After the error about
// a beginning of another format, the next beginning follows.
func Read(path string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := reader{yield: yield}
		path := filePath(path)
		if _, err := os.Stat(path); err != nil {
			yield(Entry{File: path}, notARecording(path, err))
			return
		}
		for n := maxFiles - 1; n >= 0; n-- {
			if !r.readFile(partPath(path, n)) {
				return
			}
		}
	}
}

func notARecording(path string, err error) error {
	return &protocol.Error{
		Code: protocol.CodeNotFound, Message: fmt.Sprintf("%s is not a recording: %v", path, err), Err: err,
		Hint: "'bellhop host --record FILE' and 'bellhop dev --record FILE' write one",
	}
}

// reader reads the files of a recording, the oldest first.
type reader struct {
	yield   func(Entry, error) bool
	unknown bool // the last beginning has another format
}

// readFile reports whether more is wanted.
func (r *reader) readFile(path string) bool {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return r.yield(Entry{File: path}, err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(file)
	for line := 1; ; line++ {
		raw, err := lines.ReadBytes('\n')
		raw = bytes.TrimSuffix(raw, []byte("\n"))
		if len(raw) > 0 && !r.readLine(Entry{File: path, Line: line}, raw) {
			return false
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return r.yield(Entry{File: path, Line: line}, err)
		}
	}
}

// readLine reports whether more is wanted.
func (r *reader) readLine(e Entry, raw []byte) bool {
	var line struct {
		header
		Session string `json:"session"`
	}
	err := json.Unmarshal(raw, &line)
	if err == nil && line.Format > 0 {
		err = line.checkFormat()
		r.unknown = err != nil
	} else if r.unknown {
		return true
	}
	switch {
	case err != nil:
	case line.Format > 0:
		e.Part, e.At = line.Part, line.At
	case line.Session == "":
		err = protocol.Errorf(protocol.CodeInvalid, "the line is no input of a session")
	default:
		e.Session = line.Session
		err = json.Unmarshal(raw, &e.Input)
		e.At = e.Input.At
	}
	if err != nil {
		err = fmt.Errorf("%s:%d: %w", e.File, e.Line, err)
	}
	return r.yield(e, err)
}

func (h *header) checkFormat() error {
	switch {
	case h.Format < format:
		return protocol.Errorf(protocol.CodeInvalid, "the recording was made before 0.1.0, and cannot be read")
	case h.Format > format:
		return protocol.Errorf(protocol.CodeInvalid, "the recording has format %d; this program reads format %d",
			h.Format, format)
	}
	return nil
}
