package protocol_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"bellhop/protocol"
)

// The events of a batch are the elements of its array, byte for byte, however the
// body is written.
func TestABatchIsSplitOnce(t *testing.T) {
	t.Parallel()
	value := rapid.SampledFrom([]string{
		`{}`, `[]`, `null`, `true`, `-1.5e3`, `"a\"b]}"`, `"\\"`, `{"a":[{"b":"]"},{}],"c":"}"}`,
		`[[1,2],[],"["]`, ` { "x" : 1 } `, "\"\u00e9\\u00e9\"",
	})
	space := rapid.SampledFrom([]string{"", " ", "\n\t", "\r\n "})
	rapid.Check(t, func(t *rapid.T) {
		s := func() string { return space.Draw(t, "space") }
		list := rapid.SliceOf(value).Draw(t, "events")
		body := s() + `{` + s() + `"\u0073essionId"` + s() + `:` + s() + `"s"` + s() + `,"other":` +
			value.Draw(t, "other") + `,` + s() + `"events":` + s() + `[`
		for i, one := range list {
			if i > 0 {
				body += ","
			}
			body += s() + one + s()
		}
		body += s() + `]` + s() + `}` + s()
		var want struct{ Events []json.RawMessage }
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatal(err)
		}
		object, err := protocol.SplitObject([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := object.Batch()
		if err != nil || got.SessionID != "s" || !object.Has("other") || object.Has("type") ||
			!reflect.DeepEqual(got.Events, want.Events) {
			t.Fatalf("%s\n%v, %v", body, got, err)
		}
	})
}

func TestEventsOfABatchAreReadAsAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		"text", "tool-call", "tool-result", "finish", "status", "interaction", "error", "dropped", "later",
	} {
		raw := []byte(event(kind, map[string]any{"eventId": "e:1", "epoch": 1, "seq": 2, "turnId": "t"}))
		alone, err := protocol.ParseEvent(raw)
		if err != nil {
			t.Fatal(err)
		}
		if inBatch, err := protocol.ParseChecked(raw); err != nil || !reflect.DeepEqual(inBatch, alone) {
			t.Errorf("%s: %+v, %v; want %+v", kind, inBatch, err, alone)
		}
	}
	for _, raw := range []string{`7`, `"{}"`, `[{}]`, `null`} {
		_, err := protocol.ParseChecked(json.RawMessage(raw))
		requireInvalid(t, err)
	}
}
