package policy

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

var objects = []string{
	`{}`, ` {} `, `{"a":1}`, `{"a":"x","a":"y"}`, `{"a" : [1, {"b":null}] , "c":{"d":[]}}`, `{"a\u0062":"c\n"}`,
	`{"é":"ü"}`, "{\"a\":\"\xff\"}", "{\"\xff\":1}", `{"a":01}`, `{"a":1.}`, `{"a":-0.5e+3}`, `{"a":nul}`,
	`{"a":true,}`, `{"a"}`, `{"a":}`, `{"a":1}{`, `{"a":1} x`, `{"a":"\x"}`, `{"a":"\u12"}`, "{\"a\":\"\n\"}", `{"a":"`,
	`{"a":"\`, `{,}`, `{"a":[1,]}`, `{"a":null}`, `[]`, `"x"`, ``, `{`,
	`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `{"a":` + strings.Repeat("[", 20000) + `}`,
	"{\t\"file_path\"\r\n:\"/a/b.go\"\n,\"content\":\"say \\\"x\\\"\\\\\",\"n\":-1 }", `{"a":tru e}`, `{"a":--1}`,
	`{"a":1e}`, `{"A":0xA}`,
}

// If members accepts a text, its result must equal that of json.Unmarshal.
func FuzzMembers(f *testing.F) {
	for _, o := range objects {
		f.Add([]byte(o))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := members(text)
		var want map[string]json.RawMessage
		err := json.Unmarshal(text, &want)
		if ok && (err != nil || !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })) {
			t.Errorf("%q is %q, want %q, %v", text, got, want, err)
		}
		var content string
		if s, ok := plain(text); ok && (json.Unmarshal(text, &content) != nil || s != content) {
			t.Errorf("%q is %q, want %q", text, s, content)
		}
	})
}

func TestMembersSplitsAllInputsOfAgents(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `{"command":"ls"}`, `{"file_path":"/a/b.go","content":"line\n\"two\"\té"}`,
		`{ "edits" : [ {"old":"a","new":"b"} ], "replace_all" : true, "limit":-1.5e3, "none":null }`,
	} {
		if _, ok := members([]byte(text)); !ok {
			t.Errorf("%s was not read", text)
		}
	}
}
