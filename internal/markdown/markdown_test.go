package markdown_test

import (
	"regexp"
	"strings"
	"testing"

	"bellhop/internal/markdown"
)

func TestALineHasNoMarkup(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Fix it":                         "Fix it",
		"# a\n## b":                      `\# a \#\# b`,
		"<img src=x onerror=alert(1)>":   `\<img src=x onerror=alert(1)\>`,
		"[a](javascript:b) ![c](d) `e`":  "\\[a\\](javascript:b) !\\[c\\](d) \\`e\\`",
		"a\\b *c* _d_ &lt; @ada 1. - +":  `a\\b \*c\* \_d\_ \&lt; @ada 1. - +`,
		"\x1b[31mred\u202egnp.exe\u2069": `�\[31mred⟨U+202E⟩gnp.exe⟨U+2069⟩`,
		" \t\n ":                         "",
	} {
		if got := markdown.Line(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got, want := markdown.Summary("a\n</summary><b>&"), "a &lt;/summary&gt;&lt;b&gt;&amp;"; got != want {
		t.Errorf("summary %q", got)
	}
}

func TestAFenceIsLongerThanThoseOfItsText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ info, text, want string }{
		{"sh", "make\n", "```sh\nmake\n```\n"},
		{"", "", "```\n\n```\n"},
		{"a b`", "x", "```\nx\n```\n"},
		{"json", "a\n```\n`````\n# out", "``````json\na\n```\n`````\n# out\n``````\n"},
		{"", "a\r\nb\rc\x00", "```\na\nb\nc�\n```\n"},
	} {
		if got := markdown.Fence(c.info, c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestAQuoteKeepsItsMarkupAndReachesNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"markup":                      {"# Done\n\n- *a*\n- `b`", "> # Done\n>\n> - *a*\n> - `b`\n"},
		"code":                        {"```go\na <b> c\n```\nd", "> ```go\n> a <b> c\n> ```\n> d\n"},
		"code without an end":         {"a\n~~~\n<b>\n```", "> a\n> ````\n> <b>\n> ```\n> ````\n"},
		"a fence inside of code":      {"````\n```\nx\n````\ny", "> ````\n> ```\n> x\n> ````\n> y\n"},
		"HTML":                        {"a <script>b</script> <!-- c", "> a &lt;script>b&lt;/script> &lt;!-- c\n"},
		"a sign that is no HTML":      {"a < b <= c <- d", "> a < b <= c <- d\n"},
		"HTML behind a backslash":     {`\<b>`, "> \\&lt;b>\n"},
		"HTML in a code span":         {"`<b>` and `\n`<i>`", "> `&lt;b>` and `\n> `&lt;i>`\n"},
		"an image":                    {"![a](http://t.example/x.png)", "> &#33;[a](http://t.example/x.png)\n"},
		"an image behind a backslash": {`\![a](b)`, "> \\&#33;[a](b)\n"},
		"a link": {
			"[a](https://b.example) [c](docs/x.md) [d](#e)",
			"> [a](https://b.example) [c](docs/x.md) [d](#e)\n",
		},
		"a link to a program": {
			"[a](javascript:b) [c]( data:d) [e](&#106;avascript:f)",
			"> [a]\\(javascript:b) [c]\\( data:d) [e]\\(&#106;avascript:f)\n",
		},
		"a link with a blank":   {"[a](java\tscript:b)", "> [a]\\(java\tscript:b)\n"},
		"a link over two lines": {"[a](\njavascript:b)", "> [a]\\(\n> javascript:b)\n"},
		"a reference to a program": {
			"[a]: javascript:b\n[c]: https://d.example",
			"> [a]\\: javascript:b\n> [c]: https://d.example\n",
		},
		"a fence in a list": {"- ```\n```\n<b>", "> - \\`\\`\\`\n> ```\n> <b>\n> ```\n"},
		"a fence that is indented": {
			" ~~~\n```\n ~~~\n<b>\n```\n<i>",
			">  \\~\\~\\~\n> ```\n>  ~~~\n> <b>\n> ```\n> &lt;i>\n",
		},
		"what looks like a quote": {"> a\n\nb", "> > a\n>\n> b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := markdown.Quote(c.text); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

var (
	ownFence = regexp.MustCompile("^> (`{3,})[a-zA-Z0-9+-]*$")
	html     = regexp.MustCompile(`<[A-Za-z/!?]`)
	control  = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{202a}-\x{202e}]`)
)

// For any text each line of a quote is inside of it, its fences are in pairs, and outside of them is no HTML and no
// other fence.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{
		"", "# a\n```\nb", "~~~~ x\n~~~\n~~~~", "<a\n>", "- ```\n  <b>\n```", "a\r\u2028b\x1b[0m",
		"![a](b)\n[c]: d", "\\\\<b>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quote := markdown.Quote(text)
		open := ""
		for line := range strings.SplitSeq(strings.TrimSuffix(quote, "\n"), "\n") {
			if line != ">" && !strings.HasPrefix(line, "> ") || control.MatchString(line) {
				t.Errorf("line %q of %q", line, quote)
			}
			marks := ownFence.FindStringSubmatch(line)
			switch {
			case open != "" && line == "> "+open:
				open = ""
			case open != "":
			case marks != nil:
				open = marks[1]
			case html.MatchString(line), strings.Contains(line, "```"), strings.Contains(line, "~~~"):
				t.Errorf("line %q of %q", line, quote)
			}
		}
		if open != "" {
			t.Errorf("a fence stays open in %q", quote)
		}
	})
}
