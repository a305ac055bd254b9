package policy

import (
	"fmt"
	"time"

	"bellhop/internal/yamlfile"
	"bellhop/protocol"
)

// Limits of a policy file.
const (
	maxFile  = yamlfile.MaxSize
	maxRules = 2000
)

// document is a policy file that was parsed and checked.
type document struct {
	extends bool // the built-in rules apply after the rules of the file
	timeout time.Duration
	rules   []ruleText
}

// ruleText is a rule before its patterns are compiled.
type ruleText struct {
	name, action, level, message, where string

	tools, agents, projects, commands, paths, hosts []string

	args        []argumentText
	destructive bool
	timeout     time.Duration
}

type argumentText struct {
	name     string
	patterns []string
}

// Parse reads a policy file. Its errors have CodeInvalid and contain the line; name
// is the name of the file in these errors.
func Parse(content []byte, name string, o Options) (*Engine, error) {
	doc, err := parse(content, name, newToolNames(o))
	if err != nil {
		return nil, err
	}
	return newEngine(doc, o), nil
}

func parse(content []byte, name string, tools toolNames) (document, error) {
	root, err := load(content, name)
	if err != nil || root == nil {
		return document{extends: true}, err
	}
	return read(root, name, tools)
}

// load returns the only YAML document of content, or nil if it is empty.
func load(content []byte, name string) (*yamlfile.Node, error) {
	root, err := yamlfile.Parse(content)
	if err != nil {
		return nil, &protocol.Error{Code: protocol.CodeInvalid, Message: join(name, err.Error())}
	}
	return root, nil
}

// read parses a policy from a node, which may be a part of a larger file.
func read(node *yamlfile.Node, name string, tools toolNames) (document, error) {
	r := &reader{name: name, tools: tools}
	doc := r.document(node)
	return doc, r.err
}

// join puts the file's name before an error's text.
func join(name, what string) string {
	if name == "" {
		return what
	}
	return name + ": " + what
}

func invalid(name string, at *yamlfile.Node, format string, args ...any) error {
	what := fmt.Sprintf("line %d: %s", at.Line, fmt.Sprintf(format, args...))
	return &protocol.Error{Code: protocol.CodeInvalid, Message: join(name, what)}
}

// compile compiles the patterns of a rule.
func (t *ruleText) compile(home, prefix string) rule {
	action, tools := Action(t.action), aliased(t.tools)
	r := rule{
		name: prefix + t.name, tools: newGlobs(tools), agents: newGlobs(t.agents), projects: newGlobs(t.projects),
		hosts: newGlobs(t.hosts), common: commonMask(tools),
		colon: requiresColon(newGlobs(tools)), destructive: t.destructive,
		decision: Decision{
			Action: action, Level: Level(t.level), Message: t.message, Rule: prefix + t.name,
			Timeout: t.timeout, BuiltIn: prefix != "",
		},
	}
	if r.decision.Level == "" {
		r.decision.Level = defaultLevel(action, t.destructive)
	}
	for _, c := range t.commands {
		r.commands = append(r.commands, newCommandGlob(c))
	}
	for _, p := range t.paths {
		r.paths = append(r.paths, newPathGlob(p, home))
	}
	for _, a := range t.args {
		r.args = append(r.args, argumentGlob{a.name, newGlobs(a.patterns)})
	}
	switch t.where {
	case "inside":
		r.where = inside
	case "outside":
		r.where = outside
	}
	return r
}
