package main

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
	"time"
)

const header = `// Code generated from the Go package protocol by internal/wiregen. DO NOT EDIT.
// Run "go generate ./protocol" after a change there.
//
// Times are RFC 3339 strings in UTC. Numbers whose name ends in Ms are milliseconds, sizes are bytes.
`

// generator collects the declarations of a package, then writes them as TypeScript.
type generator struct {
	*source
	out    strings.Builder
	named  map[string]string  // constant → how TypeScript writes it: 'value' of a string, name of a number
	unions map[string][]value // name of a type → the constants declared with it
}

// value is one member of a union.
type value struct{ literal, comment string }

// Generate returns the TypeScript of a package: its declarations in source order,
// file by file. It fails on a type that it cannot express.
func Generate(ctx context.Context, pattern string) (string, error) {
	source, err := load(ctx, pattern)
	if err != nil {
		return "", err
	}
	g := &generator{source: source, named: map[string]string{}, unions: map[string][]value{}}
	g.eachSpec(token.CONST, g.collectConstants)
	g.out.WriteString(header)
	g.eachSpec(token.CONST, g.writeNumbers)
	err = g.writeTypes()
	return g.out.String(), err
}

// eachSpec calls visit for every exported specification of one kind.
func (g *generator) eachSpec(kind token.Token, visit func(spec ast.Spec, doc *ast.CommentGroup)) {
	for _, file := range g.files {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != kind {
				continue
			}
			for _, spec := range group.Specs {
				doc := group.Doc
				if group.Lparen.IsValid() {
					doc = nil // of the group, not of its members
				}
				visit(spec, doc)
			}
		}
	}
}

// collectConstants remembers constants by name, for comments, and those of a
// string type by that type, for unions.
func (g *generator) collectConstants(spec ast.Spec, _ *ast.CommentGroup) {
	s := spec.(*ast.ValueSpec)
	for _, c := range g.constants(s) {
		if c.Val().Kind() == constant.Int {
			g.named[c.Name()] = numberName(c)
			continue
		}
		literal := "'" + constant.StringVal(c.Val()) + "'"
		g.named[c.Name()] = literal
		if typeName := g.declaredType(c.Type()); typeName != "" {
			g.unions[typeName] = append(g.unions[typeName], value{literal, plain(s.Comment)})
		}
	}
}

// constants are the exported constants of a specification.
func (g *generator) constants(s *ast.ValueSpec) []*types.Const {
	var all []*types.Const
	for _, name := range s.Names {
		if c, ok := g.info.Defs[name].(*types.Const); ok && name.IsExported() {
			all = append(all, c)
		}
	}
	return all
}

// writeNumbers writes sizes as they are and durations in milliseconds.
func (g *generator) writeNumbers(spec ast.Spec, doc *ast.CommentGroup) {
	s := spec.(*ast.ValueSpec)
	for _, c := range g.constants(s) {
		if c.Val().Kind() != constant.Int {
			continue
		}
		number, _ := constant.Int64Val(c.Val())
		if isDuration(c) {
			number = time.Duration(number).Milliseconds()
		}
		g.out.WriteString("\n")
		g.comment("", g.translate(cmp.Or(plain(s.Doc), plain(doc), plain(s.Comment)), nil))
		fmt.Fprintf(&g.out, "export const %s = %s;\n", numberName(c), underscored(number))
	}
}

func isDuration(c *types.Const) bool { return c.Type().String() == "time.Duration" }

// numberName is how TypeScript names a number: MaxEventID → maxEventId,
// PingInterval → pingIntervalMs.
func numberName(c *types.Const) string {
	name := strings.ReplaceAll(c.Name(), "ID", "Id")
	name = strings.ToLower(name[:1]) + name[1:]
	if isDuration(c) {
		name += "Ms"
	}
	return name
}

func (g *generator) writeTypes() error {
	var failed error
	g.eachSpec(token.TYPE, func(spec ast.Spec, doc *ast.CommentGroup) {
		s := spec.(*ast.TypeSpec)
		if failed == nil && s.Name.IsExported() {
			failed = g.writeType(s, cmp.Or(plain(s.Doc), plain(doc)))
		}
	})
	return failed
}

func (g *generator) writeType(spec *ast.TypeSpec, doc string) error {
	name := spec.Name.Name
	if fields, ok := spec.Type.(*ast.StructType); ok {
		members, err := g.members(name, fields)
		if err != nil || members == nil {
			return err
		}
		return g.writeInterface(name, doc, members)
	}
	if len(g.unions[name]) == 0 {
		return fmt.Errorf("type %s is neither a struct nor a set of string constants", name)
	}
	g.out.WriteString("\n")
	g.comment("", g.translate(doc, nil))
	g.writeUnion(name, g.unions[name])
	return nil
}

// writeUnion puts a union on one line if it fits and no member has a comment.
func (g *generator) writeUnion(name string, members []value) {
	literals, commented := make([]string, len(members)), false
	for i, m := range members {
		literals[i] = m.literal
		commented = commented || m.comment != ""
	}
	line := fmt.Sprintf("export type %s = %s;", name, strings.Join(literals, " | "))
	if !commented && len(line) <= columns {
		g.out.WriteString(line + "\n")
		return
	}
	fmt.Fprintf(&g.out, "export type %s =\n", name)
	for i, m := range members {
		end := ""
		if i == len(members)-1 {
			end = ";"
		}
		if m.comment != "" {
			end += " // " + g.translate(m.comment, nil)
		}
		fmt.Fprintf(&g.out, "  | %s%s\n", m.literal, end)
	}
}
