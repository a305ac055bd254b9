package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/internal/yamlfile"
)

// reader reads the nodes of a policy and keeps the first error. It accepts only the
// format of docs/policy.md.
type reader struct {
	name  string
	tools toolNames
	err   error
}

func (r *reader) fail(at *yamlfile.Node, format string, args ...any) {
	if r.err == nil {
		r.err = invalid(r.name, at, format, args...)
	}
}

// mapping calls the member's function for every key of a node. Unknown keys are errors;
// package yamlfile refuses repeated ones.
func (r *reader) mapping(node *yamlfile.Node, what string, members map[string]func(*yamlfile.Node)) {
	if node.Kind != yamlfile.Mapping {
		r.fail(node, "%s must be a mapping", what)
		return
	}
	for i := 0; i+1 < len(node.Content) && r.err == nil; i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if member, known := members[key.Value]; known {
			member(value)
		} else {
			names := strings.Join(slices.Sorted(maps.Keys(members)), ", ")
			r.fail(key, "%s has no %q; known are %s", what, key.Value, names)
		}
	}
}

func (r *reader) document(node *yamlfile.Node) document {
	doc := document{extends: true}
	version := false
	r.mapping(node, "a policy", map[string]func(*yamlfile.Node){
		"version": func(n *yamlfile.Node) { r.oneOf(n, "version", "1"); version = true },
		"extends": func(n *yamlfile.Node) { doc.extends = r.oneOf(n, "extends", "default", "none") == "default" },
		"timeout": func(n *yamlfile.Node) { doc.timeout = r.duration(n) },
		"rules":   func(n *yamlfile.Node) { doc.rules = r.rules(n) },
	})
	if !version {
		r.fail(node, `a policy begins with "version: 1"`)
	}
	return doc
}

func (r *reader) rules(node *yamlfile.Node) []ruleText {
	if node.Kind != yamlfile.Sequence || len(node.Content) > maxRules {
		r.fail(node, "rules must be a list of at most %d", maxRules)
		return nil
	}
	names := map[string]bool{}
	out := make([]ruleText, 0, len(node.Content))
	for i, n := range node.Content {
		rule := r.rule(n)
		if rule.name == "" {
			rule.name = fmt.Sprintf("rule %d", i+1)
		}
		if names[rule.name] {
			r.fail(n, "there are two rules %q", rule.name)
		}
		names[rule.name] = true
		if r.err != nil {
			return nil
		}
		out = append(out, rule)
	}
	return out
}

func (r *reader) rule(node *yamlfile.Node) ruleText {
	var t ruleText
	list := func(into *[]string) func(*yamlfile.Node) { return func(n *yamlfile.Node) { *into = r.patterns(n) } }
	text := func(into *string) func(*yamlfile.Node) { return func(n *yamlfile.Node) { *into = r.text(n) } }
	r.mapping(node, "a rule", map[string]func(*yamlfile.Node){
		"name": text(&t.name), "message": text(&t.message),
		"tool": func(n *yamlfile.Node) { t.tools = r.toolPatterns(n) }, "agent": list(&t.agents),
		"project": list(&t.projects), "command": list(&t.commands), "path": list(&t.paths), "host": list(&t.hosts),
		"args":        func(n *yamlfile.Node) { t.args = r.arguments(n) },
		"where":       func(n *yamlfile.Node) { t.where = r.oneOf(n, "where", "inside", "outside") },
		"destructive": func(n *yamlfile.Node) { t.destructive = r.oneOf(n, "destructive", "true", "false") == "true" },
		"action":      func(n *yamlfile.Node) { t.action = r.oneOf(n, "action", "allow", "confirm", "deny") },
		"level":       func(n *yamlfile.Node) { t.level = r.oneOf(n, "level", "INFO", "WARN", "CRITICAL") },
		"timeout":     func(n *yamlfile.Node) { t.timeout = r.duration(n) },
		"on_timeout":  func(n *yamlfile.Node) { r.oneOf(n, "on_timeout", "deny") },
	})
	switch {
	case len(t.tools) == 0:
		r.fail(node, `a rule needs a tool; "*" matches every tool`)
	case t.action == "":
		r.fail(node, "a rule needs an action: allow, confirm or deny")
	case t.timeout > 0 && t.action != string(Confirm):
		r.fail(node, "only a rule that asks (action: confirm) has a timeout")
	case t.level == string(Critical) && t.action == string(Allow):
		r.fail(node, "a CRITICAL rule must not allow: use another level or action")
	case strings.HasPrefix(t.name, "default/"):
		r.fail(node, `names that begin with "default/" are reserved for the built-in rules`)
	}
	return t
}

func (r *reader) text(n *yamlfile.Node) string {
	if n.Kind != yamlfile.Scalar || n.Value == "" || len(n.Value) > 1000 {
		r.fail(n, "must be a text of at most 1000 characters")
		return ""
	}
	return n.Value
}

func (r *reader) oneOf(n *yamlfile.Node, key string, values ...string) string {
	if n.Kind != yamlfile.Scalar || !slices.Contains(values, n.Value) {
		r.fail(n, "%s must be %s", key, strings.Join(values, " or "))
		return ""
	}
	return n.Value
}

// patterns reads a text or a list of texts and expands their braces.
func (r *reader) patterns(n *yamlfile.Node) []string {
	nodes := []*yamlfile.Node{n}
	if n.Kind == yamlfile.Sequence {
		nodes = n.Content
	}
	if len(nodes) == 0 {
		r.fail(n, "an empty list matches nothing")
	}
	var out []string
	for _, one := range nodes {
		expanded, ok := alternatives(r.text(one))
		if !ok {
			r.fail(one, "the braces expand to more than %d patterns", maxAlternatives)
		}
		out = append(out, expanded...)
	}
	return out
}

// toolPatterns reads patterns for tools. A name that matches no tool is an error: a rule
// that denies would protect nothing.
func (r *reader) toolPatterns(n *yamlfile.Node) []string {
	patterns := r.patterns(n)
	for _, p := range patterns {
		if p != "" && !r.tools.isKnown(p) {
			r.fail(n, "there is no tool %q; did you mean %q? A tool that is not in the table is \"other:\" and its name",
				p, r.tools.nearest(p))
		}
	}
	return patterns
}

func (r *reader) arguments(n *yamlfile.Node) []argumentText {
	if n.Kind != yamlfile.Mapping || len(n.Content) == 0 {
		r.fail(n, "args must map names of arguments to patterns")
		return nil
	}
	var out []argumentText
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, argumentText{r.text(n.Content[i]), r.patterns(n.Content[i+1])})
	}
	return out
}

func (r *reader) duration(n *yamlfile.Node) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yamlfile.Scalar || err != nil || d < time.Second || d > maxTimeout {
		r.fail(n, "timeout must be a duration from 1s to %s, such as 90s or 10m", "168h")
		return 0
	}
	return d
}
