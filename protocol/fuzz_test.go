package protocol_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"bellhop/protocol"
)

// A webhook body is either refused as invalid, or it has one canonical form and one
// derived id, and that form parses to the same event.
func FuzzParseEvent(f *testing.F) {
	for _, kind := range []string{
		"text", "tool-call", "tool-result", "finish", "status", "interaction", "error", "dropped", "later",
	} {
		f.Add([]byte(event(kind, map[string]any{"eventId": "e:1", "epoch": 1, "seq": 2, "turnId": "t"})))
	}
	f.Add([]byte(strings.Repeat(`{"a":`, 100)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := protocol.ParseEvent(raw)
		if err != nil {
			requireInvalid(t, err)
			return
		}
		if !json.Valid(raw) {
			t.Fatal("accepted what encoding/json calls invalid")
		}
		canonical, err := protocol.Canonical(raw)
		if err != nil {
			t.Fatalf("no canonical form: %v", err)
		}
		if again, err := protocol.Canonical(canonical); err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("canonical form %s became %s, %v", canonical, again, err)
		}
		f, err := protocol.ParseEvent(canonical)
		if err != nil || f.Type != e.Type || f.Seq != e.Seq || f.DerivedID(canonical, "t") != e.DerivedID(raw, "t") {
			t.Fatalf("reads otherwise from its canonical form %s: %v", canonical, err)
		}
	})
}

// A message of a terminal is refused as invalid, or writing and parsing it again yields the same message.
func FuzzParseTerminalRequest(f *testing.F) {
	for _, message := range []string{
		`{"size":{"columns":80,"rows":24},"direct":true}`, `{"id":"t","size":{"columns":1,"rows":1000},"ticket":"x"}`,
		`{"shown":65536}`, `{"shown":-1}`, `{"end":true}`, `{"END":true}`, `{"size":{"columns":65536}}`, `{"end":1}`,
		`null`, `[]`, `{"later":{"a":[1]}}`, "{\"id\":\"\xff\"}",
	} {
		f.Add([]byte(message))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		request, err := protocol.ParseTerminalRequest(raw)
		if err != nil {
			requireInvalid(t, err)
			return
		}
		if !json.Valid(raw) || bytes.TrimLeft(raw, " \t\r\n")[0] != '{' {
			t.Fatalf("accepted %q", raw)
		}
		written, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		again, err := protocol.ParseTerminalRequest(written)
		if err != nil || !reflect.DeepEqual(again, request) {
			t.Fatalf("%s is read again as %+v, %v", written, again, err)
		}
	})
}

// A line is refused, or writing and parsing it again yields the same line.
func FuzzParseLine(f *testing.F) {
	for _, line := range []string{
		`{"type":"input","session_id":"s","text":"hi","attachments":[{"type":"image","data":"AA=="}]}`,
		`{"type":"confirm","request_id":"r","prompt":"?","security_warning":{"level":"WARN","message":"m"},"args":{"a":[1]}}`,
		`{"type":"confirmation","request_id":"r","value":false}`,
		`{"type":"tool_message","id":"1","name":"n","content":"x","is_error":true}`,
		`{"type":"message","content":"","metadata":null}`,
		`{"type":"\ud800"}`, `{"type":"a","type":"b"}`, `not json`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		line, err := protocol.ParseLine(raw)
		if err != nil {
			requireInvalid(t, err)
			return
		}
		written, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		again, err := protocol.ParseLine(written)
		if err != nil {
			t.Fatalf("%s cannot be read again: %v", written, err)
		}
		rewritten, err := json.Marshal(again)
		if err != nil || !bytes.Equal(written, rewritten) {
			t.Fatalf("%s became %s, %v", written, rewritten, err)
		}
	})
}

func FuzzSanitizeJSON(f *testing.F) {
	for _, raw := range []string{
		`{"a":"\u0000"}`, "\"\xff\"", `{"\u0000":1,"�":2}`, `{"a":`, ``, ` `, strings.Repeat("[", 70),
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { requireSanitized(t, raw) })
}
