package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"bellhop/protocol"
)

// Limits of a policy file.
const (
	maxFile  = 1 << 20
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
	if len(content) > maxFile {
		return document{}, invalid(name, nil, "is longer than %d bytes", maxFile)
	}
	root, err := load(content, name)
	if err != nil || root == nil {
		return document{extends: true}, err
	}
	return read(root, name, tools)
}

// load returns the only YAML document of content, or nil if it is empty.
func load(content []byte, name string) (*yaml.Node, error) {
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	err := decoder.Decode(&root)
	if errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // an empty file is a policy without rules
	}
	if err == nil && len(root.Content) == 0 {
		return nil, nil //nolint:nilnil // as above
	}
	if err == nil {
		if err = decoder.Decode(&second); errors.Is(err, io.EOF) {
			return root.Content[0], nil
		}
	}
	if err == nil {
		return nil, invalid(name, &second, "a second document begins here")
	}
	return nil, &protocol.Error{
		Code: protocol.CodeInvalid, Message: join(name, strings.TrimPrefix(err.Error(), "yaml: ")),
	}
}

// read parses a policy from a node of a larger file.
func read(node *yaml.Node, name string, tools toolNames) (document, error) {
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

func invalid(name string, at *yaml.Node, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if at != nil {
		what = fmt.Sprintf("line %d: %s", at.Line, what)
	}
	return &protocol.Error{Code: protocol.CodeInvalid, Message: join(name, what)}
}

// compile compiles the patterns of a rule.
func (t *ruleText) compile(home, prefix string) rule {
	action := Action(t.action)
	r := rule{
		name: prefix + t.name, tools: newGlobs(t.tools), agents: newGlobs(t.agents), projects: newGlobs(t.projects), hosts: newGlobs(t.hosts),
		common: commonMask(t.tools), colon: needColon(newGlobs(t.tools)), destructive: t.destructive,
		decision: Decision{
			Action: action, Level: Level(t.level), Message: t.message, Rule: prefix + t.name, Timeout: t.timeout, BuiltIn: prefix != "",
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
