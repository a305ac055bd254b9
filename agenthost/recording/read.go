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
// as in Options. An error about one line does not end it: the next line follows.
func Read(path string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		path := filePath(path)
		if _, err := os.Stat(path); err != nil {
			yield(Entry{File: path}, notARecording(path, err))
			return
		}
		for n := maxFiles - 1; n >= 0; n-- {
			if !readFile(partPath(path, n), yield) {
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

// readFile reports whether the reader wants more.
func readFile(path string, yield func(Entry, error) bool) bool {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return yield(Entry{File: path}, err)
	}
	defer func() { _ = file.Close() }()
	reader := bufio.NewReader(file)
	for line := 1; ; line++ {
		raw, err := reader.ReadBytes('\n')
		if raw = bytes.TrimSuffix(raw, []byte("\n")); len(raw) > 0 {
			e := Entry{File: path, Line: line}
			parseErr := e.parse(raw)
			if parseErr != nil {
				parseErr = fmt.Errorf("%s:%d: %w", path, line, parseErr)
			}
			if !yield(e, parseErr) {
				return false
			}
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return yield(Entry{File: path, Line: line}, err)
		}
	}
}

func (e *Entry) parse(raw []byte) error {
	var line struct {
		header
		Session string `json:"session"`
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		return err
	}
	switch {
	case line.Format > format:
		return protocol.Errorf(protocol.CodeInvalid, "the recording has format %d; this program reads format %d",
			line.Format, format)
	case line.Format > 0:
		e.Part, e.At = line.Part, line.At
		return nil
	case line.Session == "":
		return protocol.Errorf(protocol.CodeInvalid, "the line is no input of a session")
	}
	e.Session = line.Session
	err := json.Unmarshal(raw, &e.Input)
	e.At = e.Input.At
	return err
}
