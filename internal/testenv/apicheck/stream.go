package apicheck

import (
	"bytes"
	"net/http"
	"testing"

	"bellhop/internal/sse"
)

// checkFrames checks the frames of an event stream. A stream that a test cut may end within a frame, which is left out.
func (c *Checker) checkFrames(t testing.TB, r *http.Request, op *operation, got []byte) {
	t.Helper()
	if r.URL.Query().Get("format") == "ui" {
		return // chunks of the AI SDK, which package uistream tests
	}
	if end := bytes.LastIndex(got, []byte("\n\n")); end >= 0 {
		got = got[:end+2]
	}
	reader := sse.NewReader(bytes.NewReader(got))
	for {
		frame, err := reader.Next()
		if err != nil {
			return
		}
		name, known := op.events[frame.Event]
		switch {
		case !known:
			t.Errorf("%s %s: the document has no event %q", r.Method, r.URL.Path, frame.Event)
		case name != "":
			if valid, problems := c.schemas.ValidateSchemaString(c.components(name), string(frame.Data)); !valid {
				t.Errorf("%s %s: the frame %s of %q: %s", r.Method, r.URL.Path, short(frame.Data), frame.Event, list(problems))
			}
		}
	}
}
