package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"bellhop/agent"
	"bellhop/protocol"
)

// parsed returns the deltas of a stream as text, and the error of the attempt.
func parsed(t *testing.T, provider string, body io.Reader) (deltas []agent.Delta, text string, err error) {
	t.Helper()
	m := answered(t, provider, http.StatusOK, eventStream, func() io.Reader { return body })
	err = m.Completer.(*completer).dialect.try(t.Context(), []agent.Message{prompt("hi")}, nil, func(d agent.Delta) bool {
		deltas = append(deltas, d)
		return true
	})
	raw, _ := json.Marshal(deltas) // invalid calls are a finding below
	return deltas, fmt.Sprint(string(raw), err), err
}

// FuzzStream checks that any stream gives the same answer in any pieces, that calls have an
// object as arguments, and that an error is a protocol.Error without the key.
func FuzzStream(f *testing.F) {
	for name, c := range streams() {
		f.Add(strings.HasPrefix(name, "anthropic"), []byte(c.stream))
	}
	f.Fuzz(func(t *testing.T, isAnthropic bool, stream []byte) {
		provider := "openai"
		if isAnthropic {
			provider = "anthropic"
		}
		deltas, text, err := parsed(t, provider, strings.NewReader(string(stream)))
		if _, again, _ := parsed(t, provider, iotest.OneByteReader(strings.NewReader(string(stream)))); again != text {
			t.Errorf("in pieces %s instead of %s", again, text)
		}
		if len(deltas) == 0 && err == nil && len(stream) == 0 {
			t.Error("an empty stream is an answer")
		}
		for _, d := range deltas {
			var members map[string]json.RawMessage
			if d.Call != nil && (json.Unmarshal(d.Call.Arguments, &members) != nil || members == nil) {
				t.Errorf("a call with %q", d.Call.Arguments)
			}
			if d.Text == "" && d.Usage == nil && d.Notice == "" && d.Call == nil {
				t.Error("an empty delta")
			}
		}
		checkFault(t, err)
	})
}

// FuzzRefusal checks the error of any answer that is no stream.
func FuzzRefusal(f *testing.F) {
	f.Add(400, "application/json", `{"error":{"type":"x","message":"y"}}`, "7", "")
	f.Add(429, "", `{"error":"`+key+`"}`, "Fri, 02 Jan 2026 03:04:15 GMT", "")
	f.Add(302, "text/html", "<p>", "", "https://u:p@h/%2f?q")
	f.Add(200, "text/html; charset", "", "", "")
	f.Fuzz(func(t *testing.T, status int, mediaType, body, after, location string) {
		header := http.Header{"Content-Type": {mediaType}, "Retry-After": {after}, "Location": {location}}
		m := answered(t, "openai", status, header, func() io.Reader { return strings.NewReader(body) })
		err := m.Completer.(*completer).dialect.try(t.Context(), nil, nil, func(agent.Delta) bool { return true })
		if err == nil {
			t.Fatal("an answer without an end")
		}
		checkFault(t, err)
	})
}

func checkFault(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	c := &completer{
		opts:     Options{Key: key, BaseURL: "https://example.com/v1", Now: func() time.Time { return time.Unix(1e9, 0) }},
		provider: Providers()[1], model: "mock-1",
	}
	f := c.fault(err)
	var report *protocol.Error
	if !errors.As(f.report(1, f.wait(1)), &report) || report.Code == "" || report.Message == "" {
		t.Fatalf("%v is %+v", err, f)
	}
	text := report.Error() + report.Hint + err.Error()
	if strings.Contains(text, key) || strings.ContainsAny(text, "\r\n\x00\x1b") ||
		!utf8.ValidString(text) || len(text) > 4000 {
		t.Errorf("%q", text)
	}
	if f.retryAfter < 0 {
		t.Errorf("a pause of %s", f.retryAfter)
	}
}
