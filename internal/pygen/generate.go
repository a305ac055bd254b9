package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
)

// columns is the longest line of a docstring.
const columns = 110

// document is what the generator reads of an OpenAPI document.
type document struct {
	Info       struct{ Title, Description string }
	Paths      yaml.MapSlice
	Components struct{ Schemas yaml.MapSlice }
}

// schema is what the generator reads of a schema.
type schema struct {
	Ref                  string `yaml:"$ref"`
	Type                 any
	Description          string
	Enum                 []string
	AnyOf                []schema `yaml:"anyOf"`
	Items                *schema
	Properties           yaml.MapSlice
	Required             []string
	AdditionalProperties *schema `yaml:"additionalProperties"`
}

type operation struct {
	OperationID string `yaml:"operationId"`
	Tags        []string
	Summary     string
	Description string
	Parameters  []struct {
		Name, In, Description string
		Required              bool
		Schema                schema
	}
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema schema }
	} `yaml:"requestBody"`
	Responses yaml.MapSlice
}

// generator writes one module.
type generator struct {
	out     strings.Builder
	schemas map[string]schema
}

// Generate returns the Python module of a document.
func Generate(name string) (string, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	var d document
	if err := yaml.UnmarshalWithOptions(raw, &d, yaml.UseOrderedMap()); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	g := &generator{schemas: map[string]schema{}}
	g.printf("# Code generated from %s by internal/pygen. DO NOT EDIT.\n", name[strings.LastIndex(name, "openapi/"):])
	g.printf("%q\"\"\n\nfrom __future__ import annotations\n\n", d.Info.Title+": types and routes.")
	g.printf("from typing import Any, Dict, List, Literal, Optional, TypedDict, Union, cast\n\n")
	g.printf("from ._http import Server, element, members\n")
	var names []string
	for _, item := range d.Components.Schemas {
		var s schema
		if err := convert(item.Value, &s); err != nil {
			return "", err
		}
		names = append(names, fmt.Sprint(item.Key))
		g.schemas[fmt.Sprint(item.Key)] = s
	}
	for _, isObject := range []bool{false, true} { // aliases first: Python evaluates them
		for _, n := range names {
			if s := g.schemas[n]; (len(s.Properties) > 0) == isObject {
				g.writeSchema(n, &s)
			}
		}
	}
	return g.finish(d.Paths)
}

// convert reads a part of an ordered document as a value.
func convert(from, into any) error {
	raw, err := yaml.Marshal(from)
	if err != nil {
		return err
	}
	return yaml.UnmarshalWithOptions(raw, into, yaml.UseOrderedMap())
}

func (g *generator) printf(format string, args ...any) { fmt.Fprintf(&g.out, format, args...) }

func (g *generator) finish(paths yaml.MapSlice) (string, error) {
	g.printf("\n\nclass Routes(Server):\n    \"\"\"One method for each route that answers with JSON or text.\"\"\"\n")
	for _, path := range paths {
		methods, _ := path.Value.(yaml.MapSlice)
		for _, method := range methods {
			var op operation
			if err := convert(method.Value, &op); err != nil {
				return "", fmt.Errorf("%v: %w", path.Key, err)
			}
			g.writeMethod(fmt.Sprint(path.Key), strings.ToUpper(fmt.Sprint(method.Key)), &op)
		}
	}
	return g.out.String(), nil
}

func (g *generator) writeSchema(name string, s *schema) {
	switch {
	case len(s.Properties) > 0:
		g.writeObject(name, s)
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, value := range s.Enum {
			values[i] = fmt.Sprintf("%q", value)
		}
		g.printf("\n%s = Literal[%s]\n", name, strings.Join(values, ", "))
	default:
		g.printf("\n%s = %s\n", name, g.typeOf(s))
	}
}

// writeObject writes a TypedDict, or two: before Python 3.11 one cannot have both required and optional keys.
func (g *generator) writeObject(name string, s *schema) {
	required := slices.Clone(s.Required)
	var always, sometimes []string
	isPlain := true
	for _, item := range s.Properties {
		key := fmt.Sprint(item.Key)
		isPlain = isPlain && isIdentifier(key)
		if slices.Contains(required, key) {
			always = append(always, key)
		} else {
			sometimes = append(sometimes, key)
		}
	}
	if !isPlain {
		g.writeFunctional(name, s)
		return
	}
	base, total := "TypedDict", ""
	if len(always) > 0 && len(sometimes) > 0 {
		base = "_" + name
		g.printf("\n\nclass %s(TypedDict):\n", base)
		g.writeKeys(s, always)
		always = nil
	}
	if len(sometimes) > 0 {
		total = ", total=False"
	}
	g.printf("\n\nclass %s(%s%s):\n", name, base, total)
	g.docstring("    ", s.Description)
	g.writeKeys(s, append(always, sometimes...))
}

func (g *generator) writeKeys(s *schema, keys []string) {
	for _, item := range s.Properties {
		if key := fmt.Sprint(item.Key); slices.Contains(keys, key) {
			g.printf("    %s: %s\n", key, g.property(item.Value))
		}
	}
}

// writeFunctional writes a TypedDict with keys that are no names in Python, such as from.
func (g *generator) writeFunctional(name string, s *schema) {
	g.printf("\n\n%s = TypedDict(\n    %q,\n    {\n", name, name)
	for _, item := range s.Properties {
		g.printf("        %q: %q,\n", fmt.Sprint(item.Key), g.property(item.Value))
	}
	g.printf("    },\n    total=False,\n)\n")
}

func (g *generator) property(value any) string {
	var s schema
	if err := convert(value, &s); err != nil {
		return "Any"
	}
	return g.typeOf(&s)
}

// typeOf writes a schema as a Python type.
func (g *generator) typeOf(s *schema) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return name
	}
	if len(s.AnyOf) > 0 {
		var all []string
		for i := range s.AnyOf {
			all = append(all, g.typeOf(&s.AnyOf[i]))
		}
		if i := slices.Index(all, "None"); i >= 0 && len(all) == 2 {
			return "Optional[" + all[1-i] + "]"
		}
		return "Union[" + strings.Join(all, ", ") + "]"
	}
	switch kind := s.Type.(type) {
	case []any:
		one := *s
		one.Type = kind[0]
		return "Optional[" + g.typeOf(&one) + "]"
	case string:
		return g.basic(kind, s)
	}
	return "Any"
}

func (g *generator) basic(kind string, s *schema) string {
	switch kind {
	case "string":
		return "str"
	case "integer":
		return "int"
	case "number":
		return "float"
	case "boolean":
		return "bool"
	case "null":
		return "None"
	case "array":
		if s.Items != nil {
			return "List[" + g.typeOf(s.Items) + "]"
		}
		return "List[Any]"
	}
	if s.AdditionalProperties != nil {
		return "Dict[str, " + g.typeOf(s.AdditionalProperties) + "]"
	}
	return "Dict[str, Any]"
}

// docstring writes a text in lines.
func (g *generator) docstring(indent, text string) {
	if text == "" {
		return
	}
	line := indent + `"""`
	for i, word := range strings.Fields(strings.ReplaceAll(text, `\`, `\\`)) {
		if i > 0 && len(line)+1+len(word) > columns {
			g.printf("%s\n", line)
			line = indent
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	if strings.HasSuffix(line, `"`) {
		line += " "
	}
	g.printf("%s\"\"\"\n", line)
}

var keywords = []string{
	"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
	"return", "try", "while", "with", "yield",
}

func isIdentifier(name string) bool {
	return !slices.Contains(keywords, name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// snake writes a name as Python does: agentSessionId → agent_session_id, agentURL → agent_url.
func snake(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		isStart := i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if isStart {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	if slices.Contains(keywords, out.String()) {
		out.WriteByte('_')
	}
	return out.String()
}
