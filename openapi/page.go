package openapi

import (
	"bytes"
	_ "embed" // the template
	"fmt"
	"html/template"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	style string
	//go:embed page.js
	script string

	pageTemplate = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(template.FuncMap{
			"prose": prose, "style": func() template.CSS { return template.CSS(style) }, //nolint:gosec // our own file
			"script": func() template.JS { return template.JS(script) }, //nolint:gosec // our own file
		}).Parse(pageText))
	})
)

// page is what the template shows.
type page struct {
	Title, Text string
	Tags        []tag
	Webhooks    []operation
	Schemas     []schema
	Schemes     []scheme
}

type tag struct {
	Name, Text string
	Operations []operation
}

type operation struct {
	ID, Method, Path, Summary, Text string
	Security                        []string
	Parameters                      []property
	Body                            *kind
	Answers                         []answer
	Events                          []event
}

type answer struct {
	Status, Text string
	Media        string
	Kind         *kind
}

type event struct {
	Name string
	Data *kind
}

type schema struct {
	Name, Text string
	Kind       *kind
	Properties []property
}

type property struct {
	Name, In, Text string
	Required       bool
	Kind           *kind
}

type scheme struct{ Name, Text string }

// kind is the type of a value, with a link to its schema.
type kind struct {
	Before, Name, After string
	Values              []string
}

// node reads a part of the parsed document.
type node yaml.MapSlice

func (n node) get(name string) any {
	for _, item := range n {
		if fmt.Sprint(item.Key) == name {
			return item.Value
		}
	}
	return nil
}

func (n node) child(path ...string) node {
	for _, name := range path {
		inner, _ := n.get(name).(yaml.MapSlice)
		n = node(inner)
	}
	return n
}

func (n node) text(name string) string {
	text, _ := n.get(name).(string)
	return text
}

// list returns the elements of a sequence.
func (n node) list(name string) []node {
	elements, _ := n.get(name).([]any)
	var nodes []node
	for _, e := range elements {
		inner, _ := e.(yaml.MapSlice)
		nodes = append(nodes, node(inner))
	}
	return nodes
}

// texts returns the elements of a sequence of scalars.
func (n node) texts(name string) []string {
	elements, _ := n.get(name).([]any)
	var texts []string
	for _, e := range elements {
		texts = append(texts, fmt.Sprint(e))
	}
	return texts
}

// render returns the page of a document.
func render(document []byte) ([]byte, error) {
	var parsed yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(document, &parsed, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	root := node(parsed)
	p := page{Title: root.child("info").text("title"), Text: root.child("info").text("description")}
	for _, t := range root.list("tags") {
		p.Tags = append(p.Tags, tag{Name: t.text("name"), Text: t.text("description")})
	}
	p.addOperations(root)
	for _, item := range root.child("components", "schemas") {
		p.Schemas = append(p.Schemas, schemaOf(fmt.Sprint(item.Key), asNode(item.Value)))
	}
	for _, item := range root.child("components", "securitySchemes") {
		p.Schemes = append(p.Schemes, scheme{fmt.Sprint(item.Key), asNode(item.Value).text("description")})
	}
	var out bytes.Buffer
	err := pageTemplate().Execute(&out, p)
	return out.Bytes(), err
}

func asNode(value any) node {
	inner, _ := value.(yaml.MapSlice)
	return node(inner)
}

func (p *page) addOperations(root node) {
	for _, path := range root.child("paths") {
		for _, item := range asNode(path.Value) {
			op := asNode(item.Value)
			shown := operationOf(root, op)
			shown.Method, shown.Path = strings.ToUpper(fmt.Sprint(item.Key)), fmt.Sprint(path.Key)
			for i := range p.Tags {
				if tags := op.texts("tags"); len(tags) > 0 && tags[0] == p.Tags[i].Name {
					p.Tags[i].Operations = append(p.Tags[i].Operations, shown)
				}
			}
		}
	}
	for _, item := range root.child("webhooks") {
		shown := operationOf(root, asNode(item.Value).child("post"))
		shown.Path = fmt.Sprint(item.Key)
		p.Webhooks = append(p.Webhooks, shown)
	}
}

func operationOf(root, op node) operation {
	shown := operation{ID: op.text("operationId"), Summary: op.text("summary"), Text: op.text("description")}
	for _, requirement := range op.list("security") {
		var names []string
		for _, use := range requirement {
			name := fmt.Sprint(use.Key)
			if scopes := requirement.texts(name); len(scopes) > 0 {
				name += " with " + strings.Join(scopes, ", ")
			}
			names = append(names, name)
		}
		shown.Security = append(shown.Security, strings.Join(names, " and "))
	}
	for _, parameter := range op.list("parameters") {
		required, _ := parameter.get("required").(bool)
		shown.Parameters = append(shown.Parameters, property{
			Name: parameter.text("name"), In: parameter.text("in"), Text: parameter.text("description"), Required: required,
			Kind: kindOf(parameter.child("schema")),
		})
	}
	if _, body := contentOf(op.child("requestBody")); body != nil {
		shown.Body = kindOf(body)
	}
	for _, item := range op.child("responses") {
		response := resolved(root, asNode(item.Value))
		media, content := contentOf(response)
		one := answer{Status: fmt.Sprint(item.Key), Text: response.text("description"), Media: media}
		if content != nil && len(response.texts("x-codes")) == 0 {
			one.Kind = kindOf(content)
		}
		shown.Answers = append(shown.Answers, one)
		for _, e := range response.list("x-events") {
			shown.Events = append(shown.Events, event{e.text("event"), kindOf(e.child("data"))})
		}
	}
	return shown
}

// resolved returns the component that a node refers to, or the node.
func resolved(root, n node) node {
	if name, ok := strings.CutPrefix(n.text("$ref"), "#/"); ok {
		return root.child(strings.Split(name, "/")...)
	}
	return n
}

// contentOf returns the first media type of a body and its schema.
func contentOf(body node) (string, node) {
	for _, item := range body.child("content") {
		return fmt.Sprint(item.Key), append(node{}, asNode(item.Value).child("schema")...)
	}
	return "", nil
}

func schemaOf(name string, n node) schema {
	shown := schema{Name: name, Text: n.text("description")}
	required := n.texts("required")
	for _, item := range n.child("properties") {
		p := asNode(item.Value)
		one := property{Name: fmt.Sprint(item.Key), Text: p.text("description"), Kind: kindOf(p)}
		for _, r := range required {
			one.Required = one.Required || r == one.Name
		}
		shown.Properties = append(shown.Properties, one)
	}
	if len(shown.Properties) == 0 {
		shown.Kind = kindOf(n)
	}
	return shown
}

const toSchema = "#/components/schemas/"

// kindOf describes a schema in a few words.
func kindOf(n node) *kind {
	if name, ok := strings.CutPrefix(n.text("$ref"), toSchema); ok {
		return &kind{Name: name}
	}
	if any := n.list("anyOf"); len(any) > 0 {
		k := kindOf(any[0])
		for _, other := range any[1:] {
			k.After += " or " + kindOf(other).plain()
		}
		return k
	}
	names := n.texts("type")
	if len(names) == 0 && n.text("type") != "" {
		names = []string{n.text("type")}
	}
	k := &kind{Before: strings.Join(names, " or "), Values: append(n.texts("enum"), n.texts("examples")...)}
	if format := n.text("format"); format != "" {
		k.Before += " (" + format + ")"
	}
	switch {
	case len(names) == 0:
		k.Before = "any value"
	case names[0] == "array":
		inner := kindOf(n.child("items"))
		inner.Before, inner.After = "list of "+inner.Before, inner.After+strings.TrimPrefix(k.Before, "array")
		return inner
	case names[0] == "object" && n.get("additionalProperties") != nil:
		inner := kindOf(n.child("additionalProperties"))
		inner.Before = "map of " + inner.Before
		return inner
	}
	return k
}

func (k *kind) plain() string { return k.Before + k.Name + k.After }

// prose returns a text in which words between backquotes are code.
func prose(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		escaped := template.HTMLEscapeString(part)
		if i%2 == 1 {
			escaped = "<code>" + escaped + "</code>"
		}
		out.WriteString(escaped)
	}
	return template.HTML(out.String()) //nolint:gosec // escaped above
}
