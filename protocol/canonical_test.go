package protocol_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/protocol"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, out string }{
		{"sorts names at every level", `{"b":1,"a":{"d":[{"z":1,"y":2}],"c":3}}`, `{"a":{"c":3,"d":[{"y":2,"z":1}]},"b":1}`},
		{"keeps the order of arrays", `[3,1,2]`, `[3,1,2]`},
		{"drops white space", " { \"a\" :\t[ 1 ,\n2 ] } ", `{"a":[1,2]}`},
		{"escapes minimally", `"\u0041\/\u00e4\n\u001f\ud83d\ude00"`, `"A/ä\n\u001f😀"`},
		{"leaves numbers inside strings alone", `"1.0 -2.50e3"`, `"1.0 -2.50e3"`},
		{"leaves escaped quotes in strings alone", `{"a\"1.0":"\\"}`, `{"a\"1.0":"\\"}`},
		{"writes one", `[1,1.0,1e0,10e-1,0.1E+1]`, `[1,1,1,1,1]`},
		{"writes zero", `[0,-0,0.00,0e10,-0e-5]`, `[0,0,0,0,0]`},
		{"writes plain decimals", `[-1.50,12e2,0.0010,125e-1]`, `[-1.5,1200,0.001,12.5]`},
		{
			"keeps every digit", `[9007199254740993,12345678901234567890.123456789]`,
			`[9007199254740993,12345678901234567890.123456789]`,
		},
		{"keeps huge exponents", `[1e400,10e-400,1e99999999999]`, `[1e400,1e-399,1e99999999999]`},
		{"takes any value", `null`, `null`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := protocol.Canonical([]byte(c.in))
			if err != nil || string(got) != c.out {
				t.Fatalf("got %s, %v, want %s", got, err, c.out)
			}
		})
	}
	for _, bad := range []string{``, `{`, `{"a":1,"a":1}`, `"\ud800"`, `"\u0000"`, `01`} {
		_, err := protocol.Canonical([]byte(bad))
		requireInvalid(t, err)
	}
}

func TestCanonicalNumbersAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number")
		out, err := protocol.Canonical([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) {
			t.Fatalf("%s became %s, which is no JSON", in, out)
		}
		want, _ := new(big.Rat).SetString(in)
		got, ok := new(big.Rat).SetString(string(out))
		if !ok || want.Cmp(got) != 0 {
			t.Fatalf("%s became %s", in, out)
		}
		again, err := protocol.Canonical(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%s became %s, then %s, %v", in, out, again, err)
		}
	})
}

func TestDerivedID(t *testing.T) {
	t.Parallel()
	id := func(raw, claim string) string {
		t.Helper()
		e, err := protocol.ParseEvent([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return e.DerivedID([]byte(raw), claim)
	}
	text := `{"type":"text","id":"text-1","text":"a","timestamp":1}`
	first := id(text, "turn")
	if !strings.HasPrefix(first, "text:turn:") || len(first) != len("text:turn:")+32 {
		t.Fatalf("form: %s", first)
	}
	same := map[string]string{
		"another spelling of the time": `{"type":"text","id":"text-1","text":"a","timestamp":1.0}`,
		"another order of the members": `{"timestamp":1,"text":"a","id":"text-1","type":"text"}`,
	}
	for name, raw := range same {
		if got := id(raw, "turn"); got != first {
			t.Errorf("%s: %s, want %s", name, got, first)
		}
	}
	other := map[string]string{
		"another text under the same id and time": `{"type":"text","id":"text-1","text":"b","timestamp":1}`,
		"another id":   `{"type":"text","id":"text-2","text":"a","timestamp":1}`,
		"another time": `{"type":"text","id":"text-1","text":"a","timestamp":2}`,
		"another turn": `{"type":"text","id":"text-1","text":"a","timestamp":1,"turnId":"later"}`,
		"a tool call":  `{"type":"tool-call","toolCallId":"text-1","toolName":"n","input":1,"timestamp":1}`,
	}
	for name, raw := range other {
		if got := id(raw, "turn"); got == first {
			t.Errorf("%s has the same id", name)
		}
	}
	finish := `{"type":"finish","finishReason":"stop","timestamp":1,"totalUsage":{"a":1,"b":2}}`
	if id(finish, "t") != id(`{"timestamp":1e0,"totalUsage":{"b":2,"a":1},"type":"finish","finishReason":"stop"}`, "t") {
		t.Error("an event without an id must be hashed in canonical form")
	}
	if id(finish, "t") == id(`{"type":"finish","finishReason":"error","timestamp":1,"totalUsage":{"a":1,"b":2}}`, "t") {
		t.Error("an event without an id must be hashed whole")
	}
	if got := new(protocol.Event).DerivedID([]byte("not JSON"), "t"); !strings.HasPrefix(got, ":t:") {
		t.Errorf("unparsed: %s", got)
	}
}
