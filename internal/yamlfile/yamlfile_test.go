package yamlfile_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bellhop/internal/yamlfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// show writes a node with the lines of its parts: {1:a: 1:b} and [2:c].
func show(n *yamlfile.Node) string {
	if n == nil {
		return "nothing"
	}
	var parts []string
	for _, c := range n.Content {
		parts = append(parts, show(c))
	}
	switch n.Kind {
	case yamlfile.Mapping:
		return fmt.Sprintf("%d{%s}", n.Line, strings.Join(parts, " "))
	case yamlfile.Sequence:
		return fmt.Sprintf("%d[%s]", n.Line, strings.Join(parts, " "))
	case yamlfile.Alias:
		return fmt.Sprintf("%d*", n.Line)
	}
	return fmt.Sprintf("%d:%q", n.Line, n.Value)
}

func TestParse(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct{ text, want string }{
		"an empty file":                {"", "nothing"},
		"only comments":                {"# a\n\n  # b\n", "nothing"},
		"a document without content":   {"---\n", `2:""`},
		"a marker before the document": {"# a\n---\na: b\n", `3{3:"a" 3:"b"}`},
		"a marker after the document":  {"a: b\n...\n# c\n", `1{1:"a" 1:"b"}`},
		"numbers stay as written": {
			"[1.10, 0x10, 010, 1_0, .inf, 1e3, ~]", `1[1:"1.10" 1:"0x10" 1:"010" 1:"1_0" 1:".inf" 1:"1e3" 1:"~"]`,
		},
		"the lines of nested parts": {
			"a:\n- b\n- c: d\n  e: [f,\n    g]\nh:\n", `1{1:"a" 2[2:"b" 3{3:"c" 3:"d" 4:"e" 4[4:"f" 5:"g"]}] 6:"h" 6:""}`,
		},
		"blocks of text": {
			"a: |\n  b\n  c\nd: >-\n  e\n  f\n\n  g\n", `1{1:"a" 1:"b\nc\n" 4:"d" 4:"e f\ng"}`,
		},
		"quotes and escapes":              {`{a: 'it''s', "b": "x\ty\u0041"}`, `1{1:"a" 1:"it's" 1:"b" 1:"x\tyA"}`},
		"a value in more lines":           {"a: b\n  c\n\n  d\n", `1{1:"a" 1:"b c\nd"}`},
		"a tab in a text":                 {"a: b\tc\n", `1{1:"a" 1:"b\tc"}`},
		"an explicit key":                 {"? a\n: b\n", `1{1:"a" 2:"b"}`},
		"keys that look like others":      {"-<<: a\n...b: c\n", `1{1:"-<<" 1:"a" 2:"...b" 2:"c"}`},
		"colons and # within words":       {"a: http://x:80/y#z # c\n", `1{1:"a" 1:"http://x:80/y#z"}`},
		"an alias":                        {"a: &x [b]\nc: *x\n", `1{1:"a" 1[1:"b"] 2:"c" 2*}`},
		"line breaks of Windows":          {"a: b\r\nc: d\r\n", `1{1:"a" 1:"b" 2:"c" 2:"d"}`},
		"a byte order mark":               {"\ufeffa: b\n", `1{1:"a" 1:"b"}`},
		"markers inside of a line":        {"a: ---\nb: '...'\n", `1{1:"a" 1:"---" 2:"b" 2:"..."}`},
		"a colon without a space in text": {"[a:b]", `1[1:"a:b"]`},
	} {
		t.Run(rule, func(t *testing.T) {
			if n, err := yamlfile.Parse([]byte(c.text)); err != nil || show(n) != c.want {
				t.Errorf("%s, %v\nwant %s", show(n), err, c.want)
			}
		})
	}
}

func TestInvalidFilesAreRefusedWithTheirLine(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct{ text, want string }{
		"too long":                        {strings.Repeat("#\n", yamlfile.MaxSize), "is longer than 1048576 bytes"},
		"a repeated key":                  {"a: b\nc: {d: e,\n  'd': f}\n", `line 3: "d" is repeated`},
		"a second document":               {"a: b\n---\nc: d\n", "line 2: a second document begins here"},
		"a marker at the end":             {"a: b\n---\n", "line 2: a second document begins here"},
		"two markers":                     {"---\n---\na: b\n", "line 2: a second document begins here"},
		"text after the end":              {"a: b\n...\nc: d\n", "line 3: did not find expected <document start>"},
		"a document in a block of text":   {"a: |\n  b\n---\nc: d\n", "line 3: a second document begins here"},
		"text at the end's marker":        {"a: b\n... c", "line 2: did not find expected <document start>"},
		"not UTF-8":                       {"a:\n  - \xff\n", "line 2: invalid leading UTF-8 octet"},
		"a control character":             {"a: \"b\x00c\"\n", "line 1: control characters are not allowed"},
		"a line break of some versions":   {"# a\u2028b: c\n", "line 1: a line break that not every program takes for one"},
		"a directive":                     {"%YAML 1.2\n---\na: b\n", "line 1: directives are not supported"},
		"a tag":                           {"a: !!binary aGVsbG8=\n", "line 1: tags are not supported (!!binary)"},
		"a list as a key":                 {"{[a]: b}", "line 1: a key must be a text"},
		"an alias as a key":               {"a: &x b\n*x : c\n", "line 2: a key must be a text"},
		"a null key":                      {"{~: b}", "line 1: a key must be a text"},
		"no key":                          {"a: b\n: c\n", "line 2: did not find expected key"},
		"an unknown anchor":               {"a: *x\n", "line 1: unknown anchor 'x' referenced"},
		"an anchor in itself":             {"a: &x [*x]\n", `line 1: the anchor "x" contains itself`},
		"a name of an anchor":             {"a: &b, c\n", "line 1: did not find expected key"},
		"a tab as indentation":            {"a:\n\tb: c\n", "line 2: found character that cannot start any token"},
		"a comma is missing":              {"{a: b c: d}", "line 1: did not find expected ',' or '}'"},
		"a key in a key":                  {"a: b\nc: {d: e: f}\n", "line 2: did not find expected ',' or '}'"},
		"a bracket in a list":             {"[a, b]c, d]", "line 1: did not find expected <document start>"},
		"a space is missing":              {"{a:b}", "line 1: a colon between a key and its value needs a space after it"},
		"a text that begins with a brace": {"a: }b\n", "line 1: did not find expected node content"},
		"a dash as a text":                {"a: -\n", "line 1: block sequence entries are not allowed in this context"},
		"a value below its key":           {"a:\nb\n", "line 2: could not find expected ':'"},
		"an entry below its dash":         {"-\na: b\n", "line 2: did not find expected node content"},
		"an escape without digits":        {`a: "\u12z45"`, "line 1: did not find expected hexdecimal number"},
		"an escape on a later line":       {"é: 'x\n  é'\nb: \"é \\\" \\x41\n  \\xzz\"", "line 4: did not find expected hexdecimal number"},
		"half a surrogate pair":           {`a: "\udc00 and more text"`, "line 1: found invalid Unicode character escape code"},
		"a bracket is missing":            {"a:\n  b: [c\n", "line 2: did not find expected ',' or ']'"},
	} {
		t.Run(rule, func(t *testing.T) {
			n, err := yamlfile.Parse([]byte(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("%s, error %v\nwant %s", show(n), err, c.want)
			}
		})
	}
}

func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "k%d: a\n", i)
		}
		return b.String()
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	for rule, c := range map[string]struct{ text, want string }{
		"100 levels":         {strings.Repeat("[", 100) + strings.Repeat("]", 100), ""},
		"too many brackets":  {strings.Repeat("[", 100_000), "line 1: exceeded max depth of 10000"},
		"too many braces":    {strings.Repeat("{a: ", 200) + strings.Repeat("}", 200), "line 1: more than 100 levels"},
		"too many dashes":    {strings.Repeat("- ", 200) + "a", "line 1: more than 100 levels"},
		"mixed levels":       {strings.Repeat("- ", 60) + strings.Repeat("[", 60) + strings.Repeat("]", 60), "line 1: more than 100 levels"},
		"many keys":          {keys(50_000), ""},
		"rules are no keys":  {strings.Repeat("- a: b\n  c: d\n", 10_000), ""},
		"aliases of aliases": {bomb, "line 6: the aliases stand for more than 1048576 values"},
	} {
		t.Run(rule, func(t *testing.T) {
			if _, err := yamlfile.Parse([]byte(c.text)); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
		})
	}
}

// word decodes itself.
type word string

func (w *word) UnmarshalYAML(n *yamlfile.Node) error {
	*w = word("<" + n.Value + ">")
	return nil
}

type entry struct {
	Text   string            `yaml:"text"`
	Flag   bool              `yaml:"flag"`
	Choice *bool             `yaml:"choice"`
	List   []string          `yaml:"list"`
	Map    map[string]string `yaml:"map"`
	Word   word              `yaml:"word"`
	Any    yamlfile.Node     `yaml:"any"`
	Lower  string
}

func TestDecode(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for text, want := range map[string]entry{
		"{text: 1.10, lower: 010}":                               {Text: "1.10", Lower: "010"},
		"{text: ~, flag: null, choice: , list: , map: , word: }": {},
		"{text: 'null', flag: True, choice: no}":                 {Text: "null", Flag: true, Choice: &no},
		"{flag: off, choice: yes}":                               {Choice: &yes},
		"{list: [a, ~, 2.50], word: x}":                          {List: []string{"a", "2.50"}, Word: "<x>"},
		"{map: {1: 2, true: ~}}":                                 {Map: map[string]string{"1": "2", "true": ""}},
	} {
		n, err := yamlfile.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got entry
		if err := yamlfile.Decode(n, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v\nwant %+v", text, got, err, want)
		}
	}
}

func TestDecodeMerges(t *testing.T) {
	t.Parallel()
	n, err := yamlfile.Parse([]byte(`
a: &a {text: a, list: [a]}
b: &b {text: b, lower: b, map: {x: y}}
c: {<<: [*a, *b], flag: true}
d: {text: d, <<: *b}
e: *a
f: {"<<": *a}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]entry{}
	err = yamlfile.Decode(n, &got)
	if want := "line 7: field << not found; known are text, flag, choice, list, map, word, any, lower"; err == nil ||
		err.Error() != want {
		t.Errorf("quotes make << a common key: %v", err)
	}
	for name, want := range map[string]entry{
		"c": {Text: "a", List: []string{"a"}, Lower: "b", Map: map[string]string{"x": "y"}, Flag: true},
		"d": {Text: "d", Lower: "b", Map: map[string]string{"x": "y"}},
		"e": {Text: "a", List: []string{"a"}},
	} {
		var got entry
		if err := yamlfile.Decode(yamlfile.Member(n, name), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestDecodeRefusesOtherShapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a":                 "line 1: cannot unmarshal a text into a mapping",
		"text: [a]":         "line 1: cannot unmarshal a list into a text",
		"text: a\nlist: b":  "line 2: cannot unmarshal a text into a list",
		"list: [a, {b: c}]": "line 1: cannot unmarshal a mapping into a text",
		"map: [a]":          "line 1: cannot unmarshal a list into a mapping",
		"flag: 1":           `line 1: cannot unmarshal "1" into true or false`,
		"flag: 'true'":      `line 1: cannot unmarshal "true" into true or false`,
		"choice: {}":        `line 1: cannot unmarshal a mapping into true or false`,
		"text: a\ntxt: b":   "line 2: field txt not found; known are text, flag, choice, list, map, word, any, lower",
		"<<: a":             "line 1: cannot unmarshal a text into a mapping",
	} {
		n, err := yamlfile.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got entry
		if err := yamlfile.Decode(n, &got); err == nil || err.Error() != want {
			t.Errorf("%s: error %v\nwant %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: &x {b: [c, 'd', \"e\"]}\nf: *x\n<<: *x\n")
	f.Add("- |\n  a\n- >-\n  b\n- ~\n- true\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := yamlfile.Parse([]byte(text))
		if err != nil || n == nil {
			return
		}
		var got map[string]entry
		if err := yamlfile.Decode(n, &got); err == nil && n.Kind != yamlfile.Mapping && len(got) > 0 {
			t.Errorf("%s became %v", show(n), got)
		}
	})
}
