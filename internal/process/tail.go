package process

import (
	"bytes"
	"strings"
	"sync"
)

// The tail of stderr is bounded in lines and in bytes per line: a child may print megabytes
// without a newline.
const (
	tailLines     = 50
	tailLineBytes = 2 << 10
)

// tail keeps the last lines written to it and truncates lines at tailLineBytes.
type tail struct {
	mu   sync.Mutex
	full []string // complete lines, oldest first
	line []byte   // the incomplete last line
}

// Write never fails: an error would break the child's stderr.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		t.line = append(t.line, line[:min(len(line), tailLineBytes-len(t.line))]...)
		if ended {
			t.finish()
		}
	}
	return len(p), nil
}

func (t *tail) finish() {
	if len(t.full) == tailLines {
		t.full = append(t.full[:0], t.full[1:]...)
	}
	t.full = append(t.full, text(t.line))
	t.line = t.line[:0]
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := append([]string{}, t.full...)
	if len(t.line) > 0 {
		lines = append(lines, text(t.line))
	}
	return lines[max(0, len(lines)-tailLines):]
}

// text makes a line valid for JSON and for a database.
func text(line []byte) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	return strings.ReplaceAll(strings.ToValidUTF8(string(line), "\uFFFD"), "\x00", "\uFFFD")
}
