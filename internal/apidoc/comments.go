package apidoc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// comments has the doc comments and the string constants of the packages of the module.
type comments struct {
	root   string // directory of the module
	module string // its path, with a slash at the end
	read   map[string]*packageComments
}

// packageComments are those of one package.
type packageComments struct {
	types     map[string]string            // type → doc comment
	fields    map[string]map[string]string // type → Go name of a field → comment
	members   map[string][]string          // type → values of its string constants, in source order
	constants map[string]string            // name of a string constant → its value
}

// of returns the comments of a package; those of a package outside the module are empty.
func (c *comments) of(path string) (*packageComments, error) {
	if known, ok := c.read[path]; ok {
		return known, nil
	}
	p := &packageComments{
		types: map[string]string{}, fields: map[string]map[string]string{},
		members: map[string][]string{}, constants: map[string]string{},
	}
	c.read[path] = p
	dir, ours := strings.CutPrefix(path+"/", c.module)
	if !ours {
		return p, nil
	}
	names, err := filepath.Glob(filepath.Join(c.root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("package %s: %w", path, fs.ErrNotExist)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.addFile(file)
	}
	return p, nil
}

func (p *packageComments) addFile(file *ast.File) {
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				p.addType(spec, firstText(spec.Doc, group.Doc))
			case *ast.ValueSpec:
				if group.Tok == token.CONST {
					p.addConstant(spec)
				}
			}
		}
	}
}

func (p *packageComments) addType(spec *ast.TypeSpec, doc string) {
	p.types[spec.Name.Name] = doc
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	of := map[string]string{}
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			of[name.Name] = firstText(field.Doc, field.Comment)
		}
	}
	p.fields[spec.Name.Name] = of
}

// addConstant reads constants such as ReachRelay Reach = "relay".
func (p *packageComments) addConstant(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			return
		}
		literal, ok := spec.Values[i].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			continue
		}
		p.constants[name.Name] = value
		if of, ok := spec.Type.(*ast.Ident); ok {
			p.members[of.Name] = append(p.members[of.Name], value)
		}
	}
}

// firstText returns the text of the first comment that has any, on one line.
func firstText(groups ...*ast.CommentGroup) string {
	for _, group := range groups {
		if text := strings.Join(strings.Fields(group.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}

var identifier = regexp.MustCompile(`\b[A-Z]\w+\b`)

// translate replaces Go names in a comment: fields by the names of their members, constants by their values.
func (p *packageComments) translate(text string, members map[string]string) string {
	return identifier.ReplaceAllStringFunc(text, func(name string) string {
		if member, ok := members[name]; ok {
			return member
		}
		if value, ok := p.constants[name]; ok {
			return "`" + value + "`"
		}
		return name
	})
}
