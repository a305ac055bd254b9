package process

import (
	"strings"
	"testing"
)

func TestOnlyACompleteMarkIsFound(t *testing.T) {
	t.Parallel()
	mark, another := newMark(), newMark()
	for name, c := range map[string]struct {
		environment []string
		want        bool
	}{
		"alone":                   {[]string{"A=b", markVariable + "=" + mark, "C=d"}, true},
		"behind an ancestor's":    {[]string{markVariable + "=" + another + "," + mark}, true},
		"before a descendant's":   {[]string{markVariable + "=" + mark + "," + another}, true},
		"another's":               {[]string{markVariable + "=" + another}, false},
		"in another variable":     {[]string{"MARK=" + mark}, false},
		"in a longer name":        {[]string{"X" + markVariable + "=" + mark}, false},
		"inside a longer word":    {[]string{markVariable + "=" + mark + "A"}, false},
		"an empty variable":       {[]string{markVariable + "="}, false},
		"an empty environment":    {nil, false},
		"a value that only looks": {[]string{"A=" + markVariable + "=" + mark}, false},
	} {
		if got := hasMark([]byte(strings.Join(c.environment, "\x00")+"\x00"), mark); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestTextThatIsNoMarkIsRefused(t *testing.T) {
	t.Parallel()
	if !isMark(newMark()) {
		t.Error("a mark is refused")
	}
	for _, text := range []string{
		"", "M", ",", "=", "PATH", "/", strings.Repeat("a", 26), strings.Repeat("A", 25), strings.Repeat("A", 27),
	} {
		if isMark(text) {
			t.Errorf("%q passes for a mark", text)
		}
	}
}
