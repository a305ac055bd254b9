package policy

import (
	_ "embed"
	"os"
	"strings"
	"sync"
	"time"
)

// Engine decides by one set of rules. It is immutable and safe for concurrent
// use; the file system is read only to follow links on the paths of a call.
type Engine struct {
	rules   []rule
	timeout time.Duration
	home    string
	links   func(string) (string, error)

	grammars grammars
}

// Options are what an Engine knows besides its rules.
type Options struct {
	Home  string                            // what ~ means, "" unknown
	Links func(path string) (string, error) // nil: os.Readlink
}

//go:embed default.yaml
var builtIn []byte

// DefaultRules is the text of the built-in rules.
func DefaultRules() string { return string(builtIn) }

// the built-in rules do not change: they are read once for each home.
var builtInRules = sync.OnceValue(func() document {
	doc, err := parse(builtIn, "")
	if err != nil {
		panic("policy: built-in rules: " + err.Error())
	}
	return doc
})

// Default is an Engine with the built-in rules alone.
func Default(o Options) *Engine { return newEngine(document{extends: true}, o) }

func newEngine(doc document, o Options) *Engine {
	e := &Engine{timeout: doc.timeout, home: strings.TrimRight(o.Home, "/"), links: o.Links}
	if e.links == nil {
		e.links = os.Readlink
	}
	for i := range doc.rules {
		e.rules = append(e.rules, doc.rules[i].compile(e.home, ""))
	}
	if doc.extends {
		shipped := builtInRules()
		for i := range shipped.rules {
			e.rules = append(e.rules, shipped.rules[i].compile(e.home, "default/"))
		}
	}
	return e
}

// Rules is how many rules the engine has, built-in ones included.
func (e *Engine) Rules() int { return len(e.rules) }

// Decide says what becomes of a call: the strictest verdict on what it does, with
// the highest level of all of them.
func (e *Engine) Decide(c Call) Decision {
	d, _ := e.decide(&c, false)
	return d
}

// Explain is Decide with the verdict on everything that the call does.
func (e *Engine) Explain(c Call) (Decision, []Step) { return e.decide(&c, true) }

func (e *Engine) decide(c *Call, explain bool) (Decision, []Step) {
	in := newInput(c.Input)
	in.colon = strings.Contains(c.Tool, ":")
	var out Decision
	var steps []Step
	level := Info
	for i, deeds := 0, e.deeds(c, &in); i < len(deeds); i++ {
		deeds[i].bit = commonBit(deeds[i].tool)
		v, ok := e.verdict(c, &in, &deeds[i])
		if !ok {
			continue
		}
		level = level.Max(v.Level)
		if out.Action == "" || v.stricter(out) {
			out = v
		}
		if explain {
			steps = append(steps, Step{Tool: deeds[i].tool, Subject: deeds[i].subject(), Hazard: deeds[i].hazard, Decision: v})
		}
	}
	if out.Action == "" { // carriers alone
		out = fallback(&deed{})
	}
	out.Level = level.Max(out.Level)
	if out.Timeout == 0 {
		out.Timeout = e.timeout
	}
	return out, steps
}

// verdict is the first rule's; false when a carrier needs none.
func (e *Engine) verdict(c *Call, in *input, d *deed) (Decision, bool) {
	for i := range e.rules {
		if r := &e.rules[i]; r.match(c, in, d) && r.speaks(c) {
			return r.verdict(d), true
		}
	}
	if d.carrier {
		return Decision{}, false
	}
	return fallback(d), true
}
