package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regexp.Regexp with the same methods, made by New. Several goroutines may use it at once.
type Regexp struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// inTest reports whether this is a test's binary.
var inTest = strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New returns an expression whose first use panics if it cannot be compiled. In a test's binary New itself panics, so
// a wrong one fails the tests of its package, as it does with regexp.MustCompile.
func New(text string) *Regexp {
	r := &Regexp{text: text}
	if inTest {
		r.regexp()
	}
	return r
}

func (r *Regexp) regexp() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.text) })
	return r.compiled
}

// MatchString is that of regexp.Regexp.
func (r *Regexp) MatchString(s string) bool { return r.regexp().MatchString(s) }

// Match is that of regexp.Regexp.
func (r *Regexp) Match(b []byte) bool { return r.regexp().Match(b) }

// FindString is that of regexp.Regexp.
func (r *Regexp) FindString(s string) string { return r.regexp().FindString(s) }

// FindStringIndex is that of regexp.Regexp.
func (r *Regexp) FindStringIndex(s string) []int { return r.regexp().FindStringIndex(s) }

// FindStringSubmatch is that of regexp.Regexp.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.regexp().FindStringSubmatch(s) }

// FindSubmatch is that of regexp.Regexp.
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.regexp().FindSubmatch(b) }

// FindAllString is that of regexp.Regexp.
func (r *Regexp) FindAllString(s string, n int) []string { return r.regexp().FindAllString(s, n) }

// FindAllStringIndex is that of regexp.Regexp.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.regexp().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch is that of regexp.Regexp.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.regexp().FindAllStringSubmatch(s, n)
}

// ReplaceAllString is that of regexp.Regexp.
func (r *Regexp) ReplaceAllString(s, by string) string { return r.regexp().ReplaceAllString(s, by) }

// ReplaceAllStringFunc is that of regexp.Regexp.
func (r *Regexp) ReplaceAllStringFunc(s string, by func(string) string) string {
	return r.regexp().ReplaceAllStringFunc(s, by)
}
