package verify

import (
	"context"
	"strings"

	"bellhop/internal/lazyregexp"
	"bellhop/notebook/verify/treesitter"
)

// dialects of the languages whose grammars do not know all of them.
var dialects = map[string]dialect{
	"c": {macros: true},
	"cpp": {
		macros:  true,
		renamed: []renamed{{lazyregexp.New(`(?m)^\s*(export)\s+\w`), ""}},
		unknown: []unknown{
			{"modules", lazyregexp.New(`(?m)^\s*(import\s*[<":]|module\s*[;:]|(import|module)\s+[\w.]+\s*:|export\s*\{)`)},
			{"calls of operators by name", lazyregexp.New(`(\breturn|[=(,])\s*operator\b`)},
			{"void() as an expression", lazyregexp.New(`,\s*void\s*\(\s*\)`)},
			{"pointers to members in types", lazyregexp.New(`::\s*\*\s*\w*\s*\)`)},
		},
	},
	"dart": {
		renamed: []renamed{
			{lazyregexp.New(`(?m)^(library;)`), ""},
			{lazyregexp.New(`(?m)^\s*(\w+:)\s*(for|while|do|switch)\b`), ""},
		},
		unknown: []unknown{
			{"patterns", lazyregexp.New(`\bcase\s+[^:;]*[({|&]|\bswitch\s*\([^{]*\)\s*\{[^;{}]*=>|\b[A-Z]\w*\(\)\s*(=>|:|when\b)`)},
			{"dot shorthands", lazyregexp.New(`([=(,:\[{>!&|]|\breturn|\bcase)\s*\.[a-z]`)},
			{"null-aware elements", lazyregexp.New(`[\[{,:]\s*\?\s*\w`)},
		},
	},
	"java": {renamed: []renamed{
		{lazyregexp.New(`(?m)^\s*import\s+(module)\s+\w`), ""}, // Java 25
		{lazyregexp.New(`\b(super)\s*\(`), "Super"},            // behind statements: Java 25
	}},
	"php": {renamed: []renamed{
		{lazyregexp.New(`\bconst\s+(\??[\w\\|]+)\s+\w+\s*=`), ""}, // PHP 8.3
		{lazyregexp.New(`(?i)\bconst\s+(void|bool|int|float|string|array|object|mixed|never|null|false|true|iterable|static)\s*=`), "X"},
	}},
	"rust": {renamed: []renamed{ // Rust 2024
		{lazyregexp.New(`\b(unsafe)\s+extern\s*("[^"]*"\s*)?\{`), ""},
		{lazyregexp.New(`\b(safe)\s+(fn|static)\b`), ""},
	}},
	"scala": {unknown: []unknown{ // Scala 3
		{"operators that begin a line", lazyregexp.New(`(?m)^\s+(&&|\|\||\+\+|[=!]=|::|[-+*/])\s+\S`)},
		{"blocks by indentation", lazyregexp.New(
			`(?m)\b(match|then|do|try|catch|finally|else|yield|for)[ \t]*$|^\s*(end|finally)\b[^{]*$|` +
				`\b(object|class|trait|enum|extension|given)\b[^{=\n]*:[ \t]*$|\.match\b`)},
	}},
}

// A dialect is what a grammar does not know of its language, because of macros or because it is older.
type dialect struct {
	macros  bool      // lines of a preprocessor, and what they define
	unknown []unknown // makes a declaration doubtful
	renamed []renamed
}

// unknown is a construct that the grammar does not know.
type unknown struct {
	name string
	form *lazyregexp.Regexp
}

// renamed is a form with a word that the grammar does not know there, the first group of the expression. With another
// word, or without it, the grammar reads the rest as the language does.
type renamed struct {
	form *lazyregexp.Regexp
	by   string
}

// again parses code that has errors without what the grammar cannot know: first with the renamed words, then without the
// declarations that are doubtful. doubt says what was left out, "" if nothing was.
func (c *grammarCheck) again(ctx context.Context, d dialect, first treesitter.Result) (
	result treesitter.Result, doubt string, err error,
) {
	result = first
	if code := d.rename(c.code); code != c.code {
		c.code = code
		if result, err = c.parse(ctx); err != nil || !hasErrors(result) {
			return result, "", err
		}
	}
	rest, doubt := d.certain(c.code)
	if doubt == "" {
		return result, "", nil
	}
	c.code = rest
	result, err = c.parse(ctx)
	return result, doubt, err
}

func hasErrors(r treesitter.Result) bool {
	for _, f := range r.Findings {
		if f.Kind != treesitter.UnclosedFence {
			return true
		}
	}
	return false
}

// rename returns code of the same length, with the words that the grammar knows.
func (d dialect) rename(code string) string {
	for _, r := range d.renamed {
		code = r.form.ReplaceAllStringFunc(code, func(match string) string {
			word := r.form.FindStringSubmatch(match)[1]
			return strings.Replace(match, word, r.by+strings.Repeat(" ", len(word)-len(r.by)), 1)
		})
	}
	return code
}

// certain returns the code with the doubtful declarations blank, and what makes them doubtful.
func (d dialect) certain(code string) (rest, doubt string) {
	if !d.macros && len(d.unknown) == 0 {
		return code, ""
	}
	s := divide(code, d.macros)
	var macros []string
	if d.macros {
		macros = defined(s.text)
		if s.reduced != code {
			doubt = preprocessed
		}
	}
	var doubtful []span
	for _, u := range s.declarations {
		if why := d.doubt(s.text[u.start:u.end], u, macros); why != "" && !u.scope {
			doubtful, doubt = append(doubtful, span{u.start, u.end}), why
		}
	}
	return blank(s.reduced, doubtful), doubt
}

const (
	preprocessed = "lines of the preprocessor"
	macro        = "what may be a macro"
)

// doubt returns what in a declaration may be correct although its grammar reports an error.
func (d dialect) doubt(text string, u declaration, macros []string) string {
	for _, c := range d.unknown {
		if c.form.MatchString(text) {
			return c.name
		}
	}
	switch {
	case !d.macros:
		return ""
	case u.directives:
		return preprocessed
	case mayHaveMacros(text, macros):
		return macro
	}
	return ""
}

var (
	// A call with a name that macros have: CHECK(x), __attribute__((x)).
	macroCall = lazyregexp.New(`\b([A-Z_][A-Z0-9_]{2,}\s*\(|[A-Z][A-Z0-9]*_\w+\s*\(|__[a-z]\w*\s*\(|__[a-z]\w*[a-z0-9]\b)`)
	// A word in the style of macros beside another word: EXPORT int f(int a UNUSED), int f() NOEXCEPT {.
	macroWord = lazyregexp.New(`\b[A-Z_][A-Z0-9_]{2,}[ \t]+\w|\)\s*[A-Z_][A-Z0-9_]{2,}\s*[;{]|\w[ \t]+[A-Z_][A-Z0-9_]{2,}\s*[,)]`)
	// The same before a declaration's first brace, where it may end a line: static int EXPORT; and a line of such a word.
	macroHead = lazyregexp.New(`\A[^{;=]*\b[A-Z_][A-Z0-9_]{2,}\s+\w|\b[A-Z_][A-Z0-9_]{2,}\s*}?\s*\z|(?m)^[ \t]*\w*[A-Z]{3,}\w*[ \t]*$`)
	// A name or a call where a declaration is expected, without a semicolon.
	macroAlone = lazyregexp.New(`(?s)\A\w+\s*(\(.*\))?\s*\z`)
	// What no function is called like: for_each(x, y) {, expect(x, ==, y), cast(unsigned int, x), next(x, char *).
	statementMacro = lazyregexp.New(`(?i)\b\w*for_?each\w*\s*\(|,\s*[=!<>]=?\s*,|[(,]\s*(\w+\s+)?\w+\s*\*+\s*[),]|` +
		`[-=(,!<>+*/]\s*\w+\s*\(\s*(const|unsigned|signed|struct|enum|union|long|int|char|short|float|double|void)\b`)
	// Three words before what is declared, of which the first may be a macro: atomic size_t x.
	threeWords = lazyregexp.New(`\A(?:(?:static|extern|inline|const)\s+)*(\w+)\s+(\w+)[\s*]+\w+\s*[;=(\[]`)
	keyword    = lazyregexp.New(`\A(auto|bool|char|class|const|constexpr|double|enum|explicit|extern|float|friend|int|long|mutable|register|short|` +
		`signed|static|struct|template|typedef|typename|union|unsigned|using|virtual|void|volatile|namespace|return)\z`)
	definition = lazyregexp.New(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)(\(?)[ \t]*(.*)$`)
	constant   = lazyregexp.New(`\A[-+~(]*[\w.]+\)*\s*\z|\A"[^"]*"\s*\z`)
	word       = lazyregexp.New(`\b[A-Za-z_]\w*`)
)

// defined returns the macros of a text that stand for more than a constant.
func defined(text string) (macros []string) {
	for _, match := range definition.FindAllStringSubmatch(text, -1) {
		if match[2] != "" || !constant.MatchString(match[3]) {
			macros = append(macros, match[1])
		}
	}
	return macros
}

func mayHaveMacros(text string, macros []string) bool {
	if macroCall.MatchString(text) || macroWord.MatchString(text) || macroHead.MatchString(text) || macroAlone.MatchString(text) || statementMacro.MatchString(text) {
		return true
	}
	if words := threeWords.FindStringSubmatch(text); words != nil && !keyword.MatchString(words[1]) {
		return true
	}
	if len(macros) == 0 {
		return false
	}
	names := map[string]bool{}
	for _, name := range macros {
		names[name] = true
	}
	for _, name := range word.FindAllString(text, -1) {
		if names[name] {
			return true
		}
	}
	return false
}
