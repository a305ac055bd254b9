package api_test

import (
	"io"
	"strings"
	"testing"
)

// chunks returns the data of every frame up to the clean end.
func (s *stream) chunks() []string {
	s.t.Helper()
	var out []string
	for {
		frame, err := s.reader.Next()
		if err == io.EOF { //nolint:errorlint // the reader returns it bare
			return out
		}
		if err != nil {
			s.t.Fatalf("after %q: %v", out, err)
		}
		if frame.ID != "" || frame.Event != "" {
			s.t.Errorf("a frame with id %q, event %q", frame.ID, frame.Event)
		}
		out = append(out, string(frame.Data))
	}
}

func TestTheUIMessageStream(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	const turn = `{"type":"start","messageId":"t1"} {"type":"start-step"} {"type":"text-start","id":"ID"} {"type":"text-delta","id":"ID","delta":"hello"} ` +
		`{"type":"text-end","id":"ID"} {"type":"finish-step"} {"type":"finish","finishReason":"stop"} [DONE]`
	render := func(s *stream) string {
		t.Helper()
		expectEqual(t, "the header", s.resp.Header.Get("X-Vercel-Ai-Ui-Message-Stream"), "v1")
		all := strings.Join(s.chunks(), " ")
		if _, id, found := strings.Cut(all, `"id":"`); found {
			id, _, _ = strings.Cut(id, `"`)
			all = strings.ReplaceAll(all, id, "ID")
		}
		return all
	}
	post := request{"POST", "/stream/s1?format=ui&token=" + token, `{"prompt":"text hello"}`, nil}
	expectEqual(t, "the stream", render(h.stream(post)), turn)
	expectEqual(t, "the second stream", render(h.stream(post)), turn)
	if five := render(h.stream(request{
		"POST", "/stream/s1?format=ui&v=5&token=" + token, `{"prompt":"x"}`, nil,
	})); strings.Contains(five, "finishReason") {
		t.Errorf("for version 5: %s", five)
	}
}

func TestTheUIMessageStreamBeginsAtTheStartOfAnOpenTurn(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	native := h.prompt("s1", h.announce("s1", "t1"), "text hello\nask Which?\ntext bye")
	native.readUntil("data-ask")
	token := h.open("s1", `"attach":true`)
	s := h.attach("s1", token, "&format=ui&after="+native.ids[len(native.ids)-1])
	var got []string
	for len(got) == 0 || !strings.Contains(got[len(got)-1], `"data-ask"`) {
		frame, err := s.reader.Next()
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, string(frame.Data))
	}
	if all := strings.Join(got,
		" "); !strings.HasPrefix(all, `{"type":"start","messageId":"t1"} {"type":"start-step"} {"type":"text-start"`) ||
		!strings.Contains(all, `"delta":"hello"`) {
		t.Errorf("got %s", all)
	}
	s.cancel()
}

func TestUnknownStreamFormatsAreRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	for query, answer := range map[string]string{
		"&format=xml":        `{"error":"format must be \"native\" or \"ui\"","code":"invalid"}`,
		"&format=ui&v=4":     `{"error":"v must be 5, 6 or 7, the version of the AI SDK","code":"invalid"}`,
		"&format=ui&v=seven": `{"error":"v must be 5, 6 or 7, the version of the AI SDK","code":"invalid"}`,
	} {
		for _, q := range []request{
			{"POST", "/stream/s1?token=" + token + query, `{"prompt":"text x"}`, nil},
			{"GET", "/stream/s1?token=" + token + query, "", nil},
		} {
			status, _, body := h.call(q)
			expectEqual(t, q.method+" "+query, itoa(status)+" "+body, "400 "+answer)
		}
	}
	h.prompt("s1", token, "text x").readAll() // the refused requests started no turn
}

// A stream that is cut must not look like a turn that has ended.
func TestACutUIMessageStreamIsNotDone(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	s := h.stream(request{"POST", "/stream/s1?format=ui&token=" + token, `{"prompt":"text hello\nask Which?"}`, nil})
	for {
		frame, err := s.reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(frame.Data), `"data-ask"`) {
			break
		}
	}
	if status, _, body := h.call(request{"POST", "/session/s1/revoke", "", []string{bearerPassword}}); status != 200 {
		t.Fatal(status, body)
	}
	if rest := s.chunks(); len(rest) > 0 {
		t.Errorf("it ends with %q", rest)
	}
}
