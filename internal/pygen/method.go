package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// argument is a parameter of a method.
type argument struct {
	name, wire, kind string
	required         bool
}

// arguments are those of one method, by where they go.
type arguments struct {
	path, query, body []argument
	single            bool // the body is one argument
}

// writeMethod writes the method of an operation. Streams, files and the routes of other protocols have none.
func (g *generator) writeMethod(path, method string, op *operation) {
	kind, isText, ok := g.answer(op)
	if !ok || slices.Contains(op.Tags, "hosts") || strings.HasPrefix(path, "/mcp") {
		return
	}
	args := g.arguments(op)
	g.printf("\n    def %s(self%s) -> %s:\n", snake(op.OperationID), args.signature(), kind)
	g.docstring("        ", strings.TrimSpace(op.Summary+". "+op.Description))
	call := fmt.Sprintf("self.call(%q, %s%s)", method, pathExpression(path), args.passed(isText))
	switch kind {
	case "None", "Any":
		g.printf("        return %s\n", call)
	default:
		g.printf("        return cast(%q, %s)\n", kind, call)
	}
}

// answer returns the Python type of an operation's success, and whether it is text.
func (g *generator) answer(op *operation) (kind string, isText, ok bool) {
	if len(op.Responses) == 0 {
		return "", false, false
	}
	first := op.Responses[0]
	var response struct {
		Content yaml.MapSlice
		Events  []any `yaml:"x-events"`
	}
	isSuccess := strings.HasPrefix(fmt.Sprint(first.Key), "2")
	if convert(first.Value, &response) != nil || !isSuccess || len(response.Events) > 0 {
		return "", false, false
	}
	if len(response.Content) == 0 {
		return "None", false, true
	}
	var content struct{ Schema schema }
	if convert(response.Content[0].Value, &content) != nil {
		return "", false, false
	}
	switch media := fmt.Sprint(response.Content[0].Key); media {
	case "application/json":
		return g.typeOf(&content.Schema), false, true
	case "text/plain", "application/x-ndjson":
		return "str", true, true
	}
	return "", false, false
}

func (g *generator) arguments(op *operation) arguments {
	var args arguments
	for _, p := range op.Parameters {
		one := argument{snake(p.Name), p.Name, g.typeOf(&p.Schema), p.Required}
		switch p.In {
		case "path":
			args.path = append(args.path, one)
		case "query":
			args.query = append(args.query, one)
		}
	}
	if op.RequestBody == nil {
		return args
	}
	body := op.RequestBody.Content["application/json"].Schema
	name, _ := strings.CutPrefix(body.Ref, "#/components/schemas/")
	s, found := g.schemas[name]
	if !found || len(s.Properties) == 0 {
		args.single = true
		args.body = []argument{{"body", "", g.typeOf(&body), op.RequestBody.Required}}
		return args
	}
	for _, item := range s.Properties {
		wire := fmt.Sprint(item.Key)
		one := argument{snake(wire), wire, g.property(item.Value), slices.Contains(s.Required, wire)}
		others := append(slices.Clone(args.path), args.query...)
		if slices.ContainsFunc(others, func(a argument) bool { return a.name == one.name }) {
			one.name += "_"
		}
		args.body = append(args.body, one)
	}
	return args
}

// signature writes parameters: those of the path by position, the others by name, the required ones first.
func (a *arguments) signature() string {
	var out strings.Builder
	for _, p := range a.path {
		fmt.Fprintf(&out, ", %s: %s", p.name, p.kind)
	}
	named := append(slices.Clone(a.query), a.body...)
	if len(named) > 0 {
		out.WriteString(", *")
	}
	for _, p := range named {
		if p.required {
			fmt.Fprintf(&out, ", %s: %s", p.name, p.kind)
		}
	}
	for _, p := range named {
		if kind := p.kind; !p.required {
			if !strings.HasPrefix(kind, "Optional[") {
				kind = "Optional[" + kind + "]"
			}
			fmt.Fprintf(&out, ", %s: %s = None", p.name, kind)
		}
	}
	return out.String()
}

// passed writes the arguments of the call.
func (a *arguments) passed(isText bool) string {
	var out strings.Builder
	if len(a.query) > 0 {
		var pairs []string
		for _, p := range a.query {
			pairs = append(pairs, fmt.Sprintf("%q: %s", p.wire, p.name))
		}
		fmt.Fprintf(&out, ", query={%s}", strings.Join(pairs, ", "))
	}
	switch {
	case a.single:
		fmt.Fprintf(&out, ", body=%s", a.body[0].name)
	case len(a.body) > 0:
		var pairs []string
		for _, p := range a.body {
			pairs = append(pairs, fmt.Sprintf("%q: %s", p.wire, p.name))
		}
		fmt.Fprintf(&out, ", body=members({%s})", strings.Join(pairs, ", "))
	}
	if isText {
		out.WriteString(", text=True")
	}
	return out.String()
}

// pathExpression writes a path whose parameters are escaped.
func pathExpression(path string) string {
	var parts []string
	for rest := path; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			parts = append(parts, fmt.Sprintf("%q", before))
		}
		if !found {
			break
		}
		name, next, _ := strings.Cut(after, "}")
		parts = append(parts, "element("+snake(name)+")")
		rest = next
	}
	return strings.Join(parts, " + ")
}
