package protocol_test

import (
	"errors"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestParseObjectRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body string }{
		{"an empty body", ""},
		{"white space alone", " \n"},
		{"an array", "[]"},
		{"null", "null"},
		{"a string", `"x"`},
		{"a number", "1"},
		{"two objects", "{}{}"},
		{"text after the object", "{} x"},
		{"an unfinished object", `{"a":1`},
		{"a comma too many", `{"a":1,}`},
		{"a comment", `{"a":1/*x*/}`},
		{"a byte order mark", "\ufeff{}"},
		{"NaN", `{"a":NaN}`},
		{"a leading zero", `{"a":01}`},
		{"duplicate names", `{"a":1,"a":2}`},
		{"duplicate names, one escaped", `{"a":1,"\u0061":2}`},
		{"duplicate names deep inside", `{"a":[{"b":1,"b":1}]}`},
		{"U+0000 in a string", `{"a":"x\u0000y"}`},
		{"U+0000 in a name", `{"x\u0000y":1}`},
		{"U+0000 after escaped backslashes", `{"a":"\\\u0000"}`},
		{"a raw NUL", "{\"a\":\"\x00\"}"},
		{"invalid UTF-8 in a string", "{\"a\":\"\xff\"}"},
		{"invalid UTF-8 in a name", "{\"\xc0\xaf\":1}"},
		{"a UTF-8 encoded surrogate", "{\"a\":\"\xed\xa0\x80\"}"},
		{"a lone high surrogate", `{"a":"\ud800"}`},
		{"a lone low surrogate", `{"a":"\udc00x"}`},
		{"two high surrogates", `{"a":"\ud800\ud800"}`},
		{"depth 65", `{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`},
		{"depth 10 000", strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000)},
		{"depth 10 000, unfinished", strings.Repeat(`{"a":[`, 5000)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			requireInvalid(t, protocol.ParseObject([]byte(c.body)))
		})
	}
}

func TestParseObjectAccepts(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body string }{
		{"an empty object", "{}"},
		{"white space around", " \r\n\t{ } \n"},
		{"an escaped backslash before u0000", `{"a":"\\u0000"}`},
		{"a surrogate pair", `{"a":"\ud83d\ude00"}`},
		{"U+FFFF and other noncharacters", "{\"a\":\"\uffff\"}"},
		{"brackets in strings beyond the depth", `{"a":"` + strings.Repeat("[", 100) + `"}`},
		{"an escaped quote before brackets", `{"a":"\"` + strings.Repeat("[", 100) + `"}`},
		{"depth 64", `{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`},
		{"names that differ in case", `{"a":1,"A":2}`},
		{"the same name in two objects", `{"a":{"b":1},"c":{"b":1}}`},
		{"a huge number in an unread member", `{"a":1e400}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := protocol.ParseObject([]byte(c.body)); err != nil {
				t.Fatalf("refused: %v", err)
			}
		})
	}
}

func TestParseObjectErrorsStayShort(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("ä", 100_000)
	err := protocol.ParseObject([]byte(`{"` + name + `":1,"` + name + `":1}`))
	requireInvalid(t, err)
	var e *protocol.Error
	if errors.As(err, &e); len(e.Message) > 200 {
		t.Fatalf("message of %d bytes", len(e.Message))
	}
}

func TestDecodeNamesTheMember(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body, message string }{
		{"a number for a string", `{"taskId":1}`, "taskId must be a string"},
		{"a string for an array", `{"artifacts":"x"}`, "artifacts must be an array"},
		{"a number inside an array", `{"artifacts":[{"type":"A"},{"type":2}]}`, "artifacts.1.type must be a string"},
		{"a string for a boolean", `{"bindPrompt":"true"}`, "bindPrompt must be a boolean"},
		{"an array for the body", `[]`, "The body must be a JSON object"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var req protocol.CheckInRequest
			err := protocol.Decode([]byte(c.body), &req)
			requireInvalid(t, err)
			var e *protocol.Error
			if errors.As(err, &e); e.Message != c.message {
				t.Fatalf("message %q, want %q", e.Message, c.message)
			}
		})
	}
}

func TestDecodeMatchesNamesExactly(t *testing.T) {
	t.Parallel()
	var req protocol.CheckInRequest
	if err := protocol.Decode([]byte(`{"TASKID":"other","taskId":"mine","extra":{}}`), &req); err != nil {
		t.Fatal(err)
	}
	if req.TaskID != "mine" {
		t.Fatalf("taskId %q", req.TaskID)
	}
}

func TestDecodeIntegersAreStrict(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"1e400", "-0", "9223372036854775808", "1.0", "1e2", "1.5", `"1"`, "true", "[]"} {
		t.Run(number, func(t *testing.T) {
			var cursor protocol.Cursor
			requireInvalid(t, protocol.Decode([]byte(`{"epoch":`+number+`}`), &cursor))
		})
	}
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	line, err := protocol.ParseLine([]byte(`{"type":"input","session_id":"s","text":"","later":1}` + "\n"))
	if err != nil || line.Type != "input" || line.SessionID != "s" || line.Text == nil || *line.Text != "" {
		t.Fatalf("%+v, %v", line, err)
	}
	if line, err = protocol.ParseLine([]byte(`{"type":"from-the-future"}`)); err != nil || line.Type != "from-the-future" {
		t.Fatalf("unknown type: %+v, %v", line, err)
	}
	for _, bad := range []string{
		``, `x`, `[]`, `{}`, `{"type":""}`, `{"type":1}`, `{"type":null}`, `{"type":"confirmation","value":"true"}`,
		`{"type":"input","text":1}`, `{"type":"input","attachments":{}}`, `{"type":"input","type":"input"}`,
	} {
		t.Run(bad, func(t *testing.T) {
			_, err := protocol.ParseLine([]byte(bad))
			requireInvalid(t, err)
		})
	}
}

func requireInvalid(t *testing.T, err error) {
	t.Helper()
	if protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Fatalf("want invalid, got %v", err)
	}
}
