package lazyregexp

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestAnExpressionMatchesAsThatOfThePackageRegexp(t *testing.T) {
	t.Parallel()
	const text, of = `(a+)(\d)?`, "xaa1 b a"
	lazy, known := New(text), regexp.MustCompile(text)
	for name, results := range map[string][2]any{
		"MatchString":           {lazy.MatchString(of), known.MatchString(of)},
		"no match":              {lazy.MatchString("b"), known.MatchString("b")},
		"FindString":            {lazy.FindString(of), known.FindString(of)},
		"FindStringIndex":       {lazy.FindStringIndex(of), known.FindStringIndex(of)},
		"FindStringSubmatch":    {lazy.FindStringSubmatch(of), known.FindStringSubmatch(of)},
		"FindSubmatch":          {lazy.FindSubmatch([]byte(of)), known.FindSubmatch([]byte(of))},
		"FindAllString":         {lazy.FindAllString(of, -1), known.FindAllString(of, -1)},
		"FindAllStringIndex":    {lazy.FindAllStringIndex(of, -1), known.FindAllStringIndex(of, -1)},
		"FindAllStringSubmatch": {lazy.FindAllStringSubmatch(of, -1), known.FindAllStringSubmatch(of, -1)},
		"ReplaceAllString":      {lazy.ReplaceAllString(of, "<$1>"), known.ReplaceAllString(of, "<$1>")},
		"ReplaceAllStringFunc": {
			lazy.ReplaceAllStringFunc(of, strings.ToUpper), known.ReplaceAllStringFunc(of, strings.ToUpper),
		},
	} {
		if !reflect.DeepEqual(results[0], results[1]) {
			t.Errorf("%s: %v, want %v", name, results[0], results[1])
		}
	}
}

func TestNewFailsInATestIfAnExpressionIsWrong(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("New accepted it")
		}
	}()
	New("(")
}

func TestAProgramCompilesAtTheFirstUse(t *testing.T) {
	t.Parallel()
	inTest = false
	defer func() { inTest = true }()
	lazy := New("a")
	if lazy.compiled != nil {
		t.Error("New compiled it")
	}
	if !lazy.MatchString("a") || lazy.compiled == nil {
		t.Error("it was not compiled for its first use")
	}
}
