package policy

import (
	"cmp"
	_ "embed"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Engine decides by one set of rules. It is immutable and safe for concurrent use.
// It reads the file system only to follow links in the paths of a call.
type Engine struct {
	rules   []rule
	timeout time.Duration
	home    string
	links   func(string) (string, error)

	trusted   []effect  // files that take effect by themselves
	run       []effect  // files that other programs run once they are started
	secrets   pathGlobs // files that may hold secrets
	hints     hints     // of secrets
	toolNames map[string]map[string]string
	grammars  grammars
}

// Options describe the machine to an Engine.
type Options struct {
	Home  string                            // the value of ~; "" means unknown
	Links func(path string) (string, error) // nil: os.Readlink

	// ToolNames maps, for an agent's id, the agent's own tool names to common
	// names. It must not change afterwards.
	ToolNames map[string]map[string]string
}

//go:embed default.yaml
var builtIn []byte

// DefaultRules returns the text of the built-in rules.
func DefaultRules() string { return string(builtIn) }

// builtInRules parses the built-in rules once, because they never change.
var builtInRules = sync.OnceValue(func() document {
	doc, err := parse(builtIn, "", newToolNames(Options{}))
	if err != nil {
		panic("policy: built-in rules: " + err.Error())
	}
	return doc
})

// Default returns an Engine with only the built-in rules.
func Default(o Options) *Engine { return newEngine(document{extends: true}, o) }

func newEngine(doc document, o Options) *Engine {
	e := &Engine{timeout: doc.timeout, home: strings.TrimRight(o.Home, "/"), links: o.Links, toolNames: o.ToolNames}
	if e.links == nil {
		e.links = os.Readlink
	}
	for i := range doc.rules {
		e.rules = append(e.rules, doc.rules[i].compile(e.home, ""))
	}
	shipped := builtInRules()
	for i := range shipped.rules {
		r := shipped.rules[i]
		switch group, _, _ := strings.Cut(r.name, "/"); group {
		case "takes-effect-by-itself":
			e.trusted = append(e.trusted, r.effect(e.home))
		case "run-by-others":
			e.run = append(e.run, r.effect(e.home))
		case "secrets":
			e.secrets = r.compile(e.home, "").paths
			e.hints = newHints(e.secrets)
		}
	}
	if doc.extends {
		for i := range shipped.rules {
			e.rules = append(e.rules, shipped.rules[i].compile(e.home, "default/"))
		}
	}
	return e
}

// effect is what other programs do with files.
type effect struct {
	paths   pathGlobs
	lower   pathGlobs // the same with small letters
	message string
}

// caseMatters are names that mean something else in small letters, such as a folder.
var caseMatters = []string{"**/BUILD", "**/WORKSPACE"}

func (t ruleText) effect(home string) effect {
	out := effect{paths: t.compile(home, "").paths, message: t.message}
	for _, p := range t.paths {
		if !slices.Contains(caseMatters, p) {
			out.lower = append(out.lower, newPathGlob(strings.ToLower(p), home))
		}
	}
	return out
}

// effectOn returns what other programs do with the file of a place, or "". lower is the place with small letters.
func effectOn(effects []effect, p, lower *place) string {
	for i := range effects {
		if effects[i].paths.match(p, false) || effects[i].lower.match(lower, false) {
			return effects[i].message
		}
	}
	return ""
}

// Rules returns the number of rules, built-in ones included.
func (e *Engine) Rules() int { return len(e.rules) }

// Decide returns the strictest decision about the operations of a call, with the
// highest level among them.
func (e *Engine) Decide(c Call) Decision {
	d, _ := e.decide(&c, false)
	return d
}

// Explain returns Decide's result and the decision about each operation.
func (e *Engine) Explain(c Call) (Decision, []Step) { return e.decide(&c, true) }

func (e *Engine) decide(c *Call, explain bool) (Decision, []Step) {
	in := newInput(c.Input)
	in.colon = strings.Contains(c.Tool, ":")
	var out Decision
	var steps []Step
	level := Info
	operations := e.operations(c, &in)
	decisions := make([]Decision, 0, len(operations))
	for i := range operations {
		one := e.judge(c, &in, &operations[i])
		decisions = append(decisions, one)
		level = level.Max(one.Level)
		if out.Action == "" || one.stricter(out) {
			out = one
		}
		if explain {
			steps = append(steps, Step{
				Tool: operations[i].tool, Subject: operations[i].subject(),
				Danger: cmp.Or(operations[i].danger, operations[i].doubt), Decision: one,
			})
		}
	}
	out.Level = level.Max(out.Level)
	if out.Timeout == 0 {
		out.Timeout = e.timeout
	}
	if out.Action == Confirm && out.Level != Critical {
		out.Shape = c.shape(operations, decisions)
	}
	return out, steps
}

// judge returns the decision about one operation, in the mode of the call: the stricter of two if its place is
// what is written or another one, with the higher level of both.
func (e *Engine) judge(c *Call, in *input, op *operation) Decision {
	d := adjust(c.Mode, op, e.firstRule(c, in, op))
	if !op.moved {
		return d
	}
	elsewhere := *op
	elsewhere.place = &place{text: op.place.text}
	other := adjust(c.Mode, &elsewhere, e.firstRule(c, in, &elsewhere))
	level := d.Level.Max(other.Level)
	if other.stricter(d) {
		d = other
	}
	d.Level = level
	return d
}

// firstRule returns the decision of the first rule that matches.
func (e *Engine) firstRule(c *Call, in *input, op *operation) Decision {
	for i := range e.rules {
		if r := &e.rules[i]; r.match(c, in, op) && r.applies(c) {
			return r.decide(op)
		}
	}
	return fallback(op)
}
