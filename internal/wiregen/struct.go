package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// member is a field of a struct as JSON and TypeScript know it.
type member struct {
	goName, name, kind, doc string
	optional                bool
}

// members reads the fields of a struct. A struct with an exported field that has
// no JSON name never crosses the wire: it has no members. Nor does one whose fields
// are all unexported.
func (g *generator) members(typeName string, s *ast.StructType) ([]member, error) {
	var members []member
	if !slices.ContainsFunc(s.Fields.List, exported) {
		return nil, nil
	}
	for _, field := range s.Fields.List {
		if len(field.Names) != 1 || !field.Names[0].IsExported() {
			return nil, fmt.Errorf("%s: every field needs one exported name", typeName)
		}
		m := member{goName: field.Names[0].Name, doc: cmp.Or(plain(field.Doc), plain(field.Comment))}
		if field.Tag == nil {
			return nil, nil
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			return nil, err
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "-" {
			continue
		}
		m.name, m.optional = name, strings.Contains(options, "omitempty")
		if m.kind, err = g.kind(g.info.Defs[field.Names[0]].Type(), m.optional); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", typeName, m.goName, err)
		}
		members = append(members, m)
	}
	return members, nil
}

func (g *generator) writeInterface(name, doc string, members []member) error {
	names := make(map[string]string, len(members))
	for _, m := range members {
		if m.goName != name { // a type named like one of its fields stays itself
			names[m.goName] = m.name
		}
	}
	g.out.WriteString("\n")
	g.comment("", g.translate(doc, names))
	fmt.Fprintf(&g.out, "export interface %s {\n", name)
	for _, m := range members {
		g.comment("  ", g.translate(m.doc, names))
		mark := ""
		if m.optional {
			mark = "?"
		}
		fmt.Fprintf(&g.out, "  %s%s: %s;\n", m.name, mark, m.kind)
	}
	g.out.WriteString("}\n")
	return nil
}

// kind is the TypeScript of a Go type. A pointer may be null, unless it is left
// out when nil.
func (g *generator) kind(t types.Type, optional bool) (string, error) {
	switch name := g.declaredType(t); {
	case name == "time.Time":
		return "string", nil
	case name == "encoding/json.RawMessage":
		return "unknown", nil
	case name != "" && !strings.Contains(name, "."):
		return name, nil
	}
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		kind, err := g.kind(t.Elem(), optional)
		if !optional {
			kind += " | null"
		}
		return kind, err
	case *types.Slice:
		kind, err := g.kind(t.Elem(), true)
		return kind + "[]", err
	case *types.Map:
		kind, err := g.kind(t.Elem(), true)
		return "Record<string, " + kind + ">", err
	case *types.Interface:
		return "unknown", nil
	case *types.Basic:
		return basic(t)
	}
	return "", fmt.Errorf("no TypeScript for %s", t)
}

func basic(t *types.Basic) (string, error) {
	switch info := t.Info(); {
	case info&types.IsString != 0:
		return "string", nil
	case info&types.IsBoolean != 0:
		return "boolean", nil
	case info&types.IsNumeric != 0:
		return "number", nil
	}
	return "", fmt.Errorf("no TypeScript for %s", t)
}

// declaredType is the name under which a type was declared: bare for those of
// the package that is read, with its import path for others, "" for none.
func (g *generator) declaredType(t types.Type) string {
	named, ok := t.(interface{ Obj() *types.TypeName })
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	if pkg := named.Obj().Pkg(); pkg.Path() != g.path {
		return pkg.Path() + "." + named.Obj().Name()
	}
	return named.Obj().Name()
}

func exported(field *ast.Field) bool {
	return len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported)
}
