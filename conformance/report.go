package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Result is the result of a check.
type Result string

// The results.
const (
	Pass Result = "pass"
	Fail Result = "fail"
	Skip Result = "skip"
)

// Check is one rule and the result of checking it.
type Check struct {
	Name     string   `json:"name"`
	Rule     string   `json:"rule"` // the rule of the protocol
	Result   Result   `json:"result"`
	Problems []string `json:"problems,omitempty"` // of a fail, or the reason of a skip
	Millis   int64    `json:"millis"`
}

// Report is the result of a run.
type Report struct {
	Subject string  `json:"subject"`
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	Skipped int     `json:"skipped"`
	Checks  []Check `json:"checks"`
}

// Write prints the report as text.
func (r *Report) Write(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", r.Subject)
	for _, c := range r.Checks {
		fmt.Fprintf(&text, "%-5s %s\n", c.Result, c.Name)
		if c.Result == Fail {
			fmt.Fprintf(&text, "      rule: %s\n", c.Rule)
		}
		for _, p := range c.Problems {
			fmt.Fprintf(&text, "      %s\n", strings.ReplaceAll(p, "\n", "\n      "))
		}
	}
	fmt.Fprintf(&text, "\n%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
	_, err := io.WriteString(w, text.String())
	return err
}

// WriteJSON prints the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// check is a rule and the function that checks it.
type check[S any] struct {
	name, rule string
	run        func(*scope, S)
}

// perform runs checks in order, only those named if any are. When ctx ends, the remaining
// checks are skipped.
func perform[S any](ctx context.Context, subject string, s S, only []string, checks []check[S]) *Report {
	r := &Report{Subject: subject, Checks: []Check{}}
	for _, c := range checks {
		if len(only) > 0 && !slices.Contains(only, c.name) {
			continue
		}
		begun := time.Now()
		sc := &scope{ctx: ctx}
		if ctx.Err() != nil {
			sc.skipped = "the run was ended"
		} else {
			sc.run(func() { c.run(sc, s) })
		}
		done := Check{Name: c.name, Rule: c.rule, Result: Pass, Millis: time.Since(begun).Milliseconds()}
		switch {
		case len(sc.problems) > 0:
			done.Result, done.Problems = Fail, sc.problems
			r.Failed++
		case sc.skipped != "":
			done.Result, done.Problems = Skip, []string{sc.skipped}
			r.Skipped++
		default:
			r.Passed++
		}
		r.Checks = append(r.Checks, done)
	}
	return r
}

// scope is a running check.
type scope struct {
	ctx      context.Context //nolint:containedctx // the check's context
	problems []string
	skipped  string
	cleanups []func()
}

// stop is the panic value that ends a check early.
type stop struct{}

func (s *scope) run(f func()) {
	defer func() {
		for i := len(s.cleanups) - 1; i >= 0; i-- {
			s.cleanups[i]()
		}
		if p := recover(); p != nil {
			if _, ours := p.(stop); !ours {
				panic(p)
			}
		}
	}()
	f()
}

// later runs f at the end of the check.
func (s *scope) later(f func()) { s.cleanups = append(s.cleanups, f) }

// failf notes a problem; the check continues.
func (s *scope) failf(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// stopf notes a problem and ends the check.
func (s *scope) stopf(format string, args ...any) {
	s.failf(format, args...)
	panic(stop{})
}

// skip ends a check that does not apply.
func (s *scope) skip(why string) {
	s.skipped = why
	panic(stop{})
}

// brief shortens a text for the report.
func brief(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "�")
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return text
}
