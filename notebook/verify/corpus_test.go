//go:build corpus

package verify

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bellhop/notebook/verify/treesitter"
	"bellhop/protocol"
)

// uncounted languages may have any number of real files that are not checked: macros are not expanded.
var uncounted = []string{"c", "cpp"}

// outcome counts what became of the files of a language and of their mutants.
type outcome struct {
	files, failed, unchecked int
	mutants, before, after   int // of files that the grammar alone takes; how many it fails, how many Verify fails
	doubted, caught          int // mutants of the files that it does not take; how many Verify fails
}

// Correct files of other projects are verified, or not checked, but they do not fail. A mutant outside of a doubtful
// declaration fails if the grammar alone reports an error.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus := corpusDirectory(t)
	languages, err := os.ReadDir(corpus)
	if err != nil {
		t.Fatal(err)
	}
	v := New(Options{Worker: []string{os.Args[0], "verify-worker"}, Cache: t.TempDir(), ProcessorLimit: time.Minute, Limit: time.Hour})
	t.Cleanup(v.Close)
	module, err := treesitter.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = module.Close(context.Background()) }()
	var table strings.Builder
	for _, entry := range languages {
		if !entry.IsDir() {
			continue
		}
		language := entry.Name()
		c := &corpusTest{t: t, verifier: v, module: module, language: language}
		c.files(filepath.Join(corpus, language))
		o := c.outcome
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d | %d | %d | %d of %d |\n", language, o.files, o.failed, o.unchecked,
			o.mutants, o.before, o.after, o.caught, o.doubted)
		switch {
		case o.files < 50:
			t.Errorf("%s: %d files", language, o.files)
		case o.failed*50 > o.files:
			t.Errorf("%s: %d of %d correct files fail", language, o.failed, o.files)
		case o.unchecked*4 > o.files && !slices.Contains(uncounted, language):
			t.Errorf("%s: %d of %d files are not checked", language, o.unchecked, o.files)
		case o.after < o.before:
			t.Errorf("%s: %d of %d mutants fail, by the grammar alone %d", language, o.after, o.mutants, o.before)
		case o.mutants+o.doubted < 50:
			t.Errorf("%s: %d mutants", language, o.mutants+o.doubted)
		}
	}
	t.Logf("files, failed, not checked; mutants, failed by the grammar alone, failed; mutants of doubtful files that fail\n%s", table.String())
}

func corpusDirectory(t *testing.T) string {
	t.Helper()
	directory := os.Getenv("BELLHOP_CORPUS")
	if directory == "" {
		t.Fatal("BELLHOP_CORPUS names no directory: run make test-long PART=corpus")
	}
	want, err := os.ReadFile("corpus/corpus.json")
	if err != nil {
		t.Fatal(err)
	}
	if held, err := os.ReadFile(filepath.Join(directory, "corpus.json")); err != nil || !bytes.Equal(held, want) {
		t.Fatalf("%s does not hold the files of corpus/corpus.json: run make corpus (%v)", directory, err)
	}
	return directory
}

type corpusTest struct {
	outcome
	t        *testing.T
	verifier *Verifier
	module   *treesitter.Module
	language string
}

func (c *corpusTest) files(directory string) {
	files, err := os.ReadDir(directory)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(directory, file.Name()))
		if err != nil {
			c.t.Fatal(err)
		}
		code := string(data)
		if !utf8.ValidString(code) {
			code = latin1(data)
		}
		c.file(file.Name(), code)
	}
}

func latin1(data []byte) string {
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return string(runes)
}

func (c *corpusTest) file(name, code string) {
	got := c.verifier.Verify(c.t.Context(), c.language, code)
	c.outcome.files++
	switch got.Verdict {
	case protocol.VerifyFailed:
		c.failed++
		c.t.Logf("%s %s: %+v", c.language, name, got.Diagnostics[0])
		return
	case protocol.VerifyUnsupported:
		c.unchecked++
	}
	const perFile = 5
	taken := c.grammarTakes(code)
	random := rand.New(rand.NewPCG(hash(name), 0)) //nolint:gosec // it chooses where the code is damaged
	for range perFile {
		mutant, found := mutate(random, c.language, code)
		if !found {
			return
		}
		fails := c.verifier.Verify(c.t.Context(), c.language, mutant).Verdict == protocol.VerifyFailed
		if !taken {
			c.doubted++
			if fails {
				c.caught++
			}
			continue
		}
		c.mutants++
		before := !c.grammarTakes(mutant)
		if _, _, grammar := treesitter.Find(c.language); !grammar {
			before = fails
		}
		if before {
			c.before++
		}
		if fails {
			c.after++
		}
		if before && !fails {
			c.t.Logf("%s %s: a mutant is not checked: %s", c.language, name, difference(code, mutant))
		}
	}
}

// grammarTakes reports whether the grammar, without anything else of this package, finds no error.
func (c *corpusTest) grammarTakes(code string) bool {
	_, number, found := treesitter.Find(c.language)
	if !found {
		return true
	}
	result, err := c.module.Parse(c.t.Context(), number, prefixOf(c.language, code)+code, extras[c.language])
	if err != nil {
		c.t.Fatal(err)
	}
	return !hasErrors(result)
}

func hash(name string) uint64 {
	h := fnv.New64()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// difference shows the lines in which two texts begin to differ.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	start := strings.LastIndexByte(a[:i], '\n') + 1
	return fmt.Sprintf("%q became %q", a[start:lineEnd(a, i)], b[start:lineEnd(b, i)])
}

// mutate damages code at one place, in a declaration that is not doubtful, between two that are not.
func mutate(random *rand.Rand, language, code string) (mutant string, found bool) {
	d := dialects[language]
	s := divide(code, d.macros)
	macros := defined(s.text)
	isDoubtful := func(i int) bool {
		if i < 0 || i >= len(s.declarations) {
			return false
		}
		u := s.declarations[i]
		return u.scope || d.doubt(s.text[u.start:u.end], u, macros) != ""
	}
	var sites []int
	for i, u := range s.declarations {
		if isDoubtful(i-1) || isDoubtful(i) || isDoubtful(i+1) || strings.HasPrefix(strings.TrimSpace(s.text[u.end:]), "#") {
			continue
		}
		for at := u.start; at < u.end; at++ {
			line := s.text[strings.LastIndexByte(s.text[:at], '\n')+1 : lineEnd(s.text, at)]
			if strings.ContainsRune("(){}[];,", rune(s.text[at])) && !strings.ContainsAny(line, "#\"'`/%") {
				sites = append(sites, at)
			}
		}
	}
	if len(sites) == 0 {
		return "", false
	}
	at := sites[random.IntN(len(sites))]
	switch random.IntN(4) {
	case 0: // without this sign
		return code[:at] + code[at+1:], true
	case 1: // twice
		return code[:at] + code[at:at+1] + code[at:], true
	case 2: // with an operator that lacks a side
		return code[:at] + " = = " + code[at:], true
	default: // with a bracket of another kind
		return code[:at] + string("{[("[random.IntN(3)]) + code[at+1:], true
	}
}
