package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Writer writes one JSON value per line. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter writes lines to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes v and a newline in one Write of the underlying writer, so that a crash or a
// second writer never leaves a partial line. It blocks as long as the underlying writer does.
func (w *Writer) Write(v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode line: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(line.Bytes()); err != nil {
		return fmt.Errorf("write line: %w", err)
	}
	return nil
}
