package sse

import (
	"bytes"
	"errors"
	"unicode"
	"unicode/utf8"
)

// Frame is one event of a stream. ID "" means no id; Event "" means "message" to browsers. Data
// may have any line endings; a reader gets them as LF.
type Frame struct {
	ID    string
	Event string
	Data  []byte
}

// ErrField rejects an id or event name with a control character or invalid UTF-8: a CR, LF or
// NUL would inject fields (CWE-93).
var ErrField = errors.New("sse: control character in id or event")

// Ping is the comment that keeps an idle stream alive.
var Ping = []byte(": ping\n\n")

// Encode returns the wire form of f in a new slice, which all subscribers can share.
func Encode(f Frame) ([]byte, error) {
	return AppendFrame(make([]byte, 0, len(f.ID)+len(f.Event)+len(f.Data)+32), f)
}

// AppendFrame appends the wire form of f. It always has a data line, because browsers drop an
// event without one. On ErrField dst is returned unchanged.
func AppendFrame(dst []byte, f Frame) ([]byte, error) {
	if !plain(f.ID) || !plain(f.Event) {
		return dst, ErrField
	}
	if f.ID != "" {
		dst = append(append(append(dst, "id: "...), f.ID...), '\n')
	}
	if f.Event != "" {
		dst = append(append(append(dst, "event: "...), f.Event...), '\n')
	}
	for rest := f.Data; ; {
		dst = append(dst, "data: "...)
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			dst = append(append(dst, rest...), '\n')
			break
		}
		dst = append(append(dst, rest[:end]...), '\n')
		if rest[end] == '\r' && end+1 < len(rest) && rest[end+1] == '\n' {
			end++
		}
		rest = rest[end+1:]
	}
	return append(dst, '\n'), nil
}

func plain(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}
