package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/protocol"
)

func TestSanitizeText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                 "",
		"plain ä 😀\n\t":    "plain ä 😀\n\t",
		"a\x00b":           "a\uFFFDb",
		"a\xffb":           "a\uFFFDb",
		"\xed\xa0\x80":     "\uFFFD",
		"cut \xf0\x9f\x98": "cut \uFFFD",
	} {
		if got := protocol.SanitizeText(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestSanitizeJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 61) + strings.Repeat("]", 61)
	cases := []struct{ name, in, want string }{
		{"leaves good JSON byte for byte", `{ "b" : 1.0, "a":"\u0041" }`, `{ "b" : 1.0, "a":"\u0041" }`},
		{"replaces U+0000 in strings and names", `{"a\u0000":["\u0000x"]}`, `{"a�":["�x"]}`},
		{"replaces lone surrogates", `"\ud800x"`, `"�x"`},
		{"replaces invalid UTF-8", "\"\xff\"", `"�"`},
		{"keeps numbers as they are while cleaning", `[1.00,1e400,"\u0000"]`, `[1.00,1e400,"�"]`},
		{"makes a text of invalid JSON", "exit 1\x00", `"exit 1�"`},
		{"makes text of an unfinished value", `{"a":`, `"{\"a\":"`},
		{"makes text of two values", `1 2`, `"1 2"`},
		{"makes text of duplicate names", `{"a":1,"a":2}`, `"{\"a\":1,\"a\":2}"`},
		{"makes text of names that become equal", `{"\u0000":1,"�":2}`, `"{\"\\u0000\":1,\"�\":2}"`},
		{"makes a text of a value that nests too deep", deep, `"` + deep + `"`},
		{"makes text of white space", " ", `" "`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(protocol.SanitizeJSON(json.RawMessage(c.in))); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
		})
	}
	if got := protocol.SanitizeJSON(nil); got != nil {
		t.Fatalf("absent became %s", got)
	}
}

func TestSanitizedValuesAlwaysPass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{
				`{`, `}`, `[`, `]`, `"a"`, `"a":`, `,`, `:`, `1`, `\u0000`, `"\u0000":`, `"\ud800"`, "\xff", `"`, " ",
			})), func(s []string) []byte { return []byte(strings.Join(s, "")) }),
		).Draw(t, "raw")
		requireSanitized(t, raw)
	})
}

func requireSanitized(t interface{ Fatalf(string, ...any) }, raw []byte) {
	clean := protocol.SanitizeJSON(raw)
	if len(raw) == 0 {
		return
	}
	body := `{"sessionId":"s","events":[{"input":` + string(clean) + `}]}`
	if err := protocol.ParseObject([]byte(body)); err != nil {
		t.Fatalf("%q became %q: %v", raw, clean, err)
	}
}
