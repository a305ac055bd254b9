package protocol

import (
	"testing"
	"unicode/utf8"
)

func TestPathsAreShownDistinctAndReadBack(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a/b c.txt":          "a/b c.txt",
		"ü/日本":               "ü/日本",
		`a\b`:                `a\b`,
		`"a"`:                `"a"`,
		`"a\\b"`:             `"a\\b"`,
		"caf\xe9.txt":        `"caf\351.txt"`,
		"d\xff/ü\n/x":        `"d\377"/"ü\n"/x`,
		"\xed\xa0\x80":       `"\355\240\200"`,
		"t\tq\"b\\\x1b\x7f":  `"t\tq\"b\\\033\177"`,
		"\u0085":             `"\302\205"`,
		`"caf\351.txt"`:      `"\"caf\\351.txt\""`,
		`"\"caf\\351.txt\""`: `"\"\\\"caf\\\\351.txt\\\"\""`,
		`"\303\274\n"`:       `"\"\\303\\274\\n\""`,
		`"\303\274"`:         `"\303\274"`,
		`"a\057b\n"`:         `"a\057b\n"`,
		`"\000\n"`:           `"\000\n"`,
		`"\477"`:             `"\477"`,
		`"a"b\n"`:            `"a"b\n"`,
		`"\`:                 `"\`,
		`"`:                  `"`,
	} {
		got := ShownPath(path)
		if got != want {
			t.Errorf("%q is shown as %s, want %s", path, got, want)
		}
		if back := PathShown(got); back != path {
			t.Errorf("%s names %q, want %q", got, back, path)
		}
	}
	if got := PathShown(`"\303\274\n"`); got != "ü\n" {
		t.Errorf("another spelling of git names %q", got)
	}
}

func FuzzShownPath(f *testing.F) {
	f.Add("a/\xff", `"\377"`)
	f.Add(`"\"\\377\""`, "\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		shownA, shownB := ShownPath(a), ShownPath(b)
		if !utf8.ValidString(shownA) || PathShown(shownA) != a {
			t.Errorf("%q is shown as %q", a, shownA)
		}
		if a != b && shownA == shownB {
			t.Errorf("%q and %q are shown alike", a, b)
		}
	})
}
