package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// stream is an open event stream.
type stream struct {
	t      *testing.T
	resp   *http.Response
	reader *sse.Reader
	cancel context.CancelFunc
	ids    []string // stream ids of the frames so far
}

func (h *host) stream(q request) *stream {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	h.t.Cleanup(cancel)
	resp := h.do(ctx, q)
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK ||
		got != "text/event-stream; charset=utf-8" {
		body, _ := io.ReadAll(resp.Body)
		h.t.Fatalf("%s %s: %d %s %s", q.method, q.path, resp.StatusCode, got, body)
	}
	return &stream{t: h.t, resp: resp, reader: sse.NewReader(resp.Body), cancel: cancel}
}

// prompt starts a turn and streams it.
func (h *host) prompt(session, token, script string) *stream {
	h.t.Helper()
	body, err := json.Marshal(protocol.PromptRequest{Prompt: script})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.stream(request{"POST", "/stream/" + session + "?token=" + token, string(body), nil})
}

func (h *host) attach(session, token, query string, header ...string) *stream {
	h.t.Helper()
	return h.stream(request{"GET", "/stream/" + session + "?token=" + token + query, "", header})
}

// next returns the next part, or io.EOF at the clean end.
func (s *stream) next() (*protocol.Part, error) {
	frame, err := s.reader.Next()
	if err != nil {
		return nil, err
	}
	var part protocol.Part
	if err := json.Unmarshal(frame.Data, &part); err != nil {
		s.t.Fatalf("frame %q: %v", frame.Data, err)
	}
	s.ids = append(s.ids, frame.ID)
	return &part, nil
}

// readUntil reads up to the first part of the type and returns the parts.
func (s *stream) readUntil(kind string) []*protocol.Part {
	s.t.Helper()
	var parts []*protocol.Part
	for {
		part, err := s.next()
		if err != nil {
			s.t.Fatalf("no %s in %s: %v", kind, partTypes(parts), err)
		}
		parts = append(parts, part)
		if part.Type == kind {
			return parts
		}
	}
}

// readAll reads to the clean end.
func (s *stream) readAll() []*protocol.Part {
	s.t.Helper()
	var parts []*protocol.Part
	for {
		part, err := s.next()
		if errors.Is(err, io.EOF) {
			return parts
		}
		if err != nil {
			s.t.Fatalf("after %s: %v", partTypes(parts), err)
		}
		parts = append(parts, part)
	}
}

// partTypes lists the types and texts of parts.
func partTypes(parts []*protocol.Part) string {
	var list []string
	for _, p := range parts {
		word := p.Type
		if p.Text != nil {
			word += " " + *p.Text
		}
		if p.Type == protocol.PartDataResume {
			var resume protocol.Resume
			if json.Unmarshal(p.Data, &resume) == nil {
				word += " " + resume.Verdict
			}
		}
		list = append(list, word)
	}
	return strings.Join(list, ", ")
}
