package apidoc

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// schemas has the components of a document: a schema for each struct and each set of constants.
type schemas struct {
	comments *comments
	byName   map[string]object
	names    map[reflect.Type]string
	taken    map[string]reflect.Type
	sent     map[reflect.Type]bool // types of responses, in which members without omitempty are always present
	open     []reflect.Type        // sets of constants that are not complete
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	rawType       = reflect.TypeFor[json.RawMessage]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// markSent records that a type, and what it contains, is in a response.
func (s *schemas) markSent(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		s.markSent(t.Elem())
	case reflect.Struct:
		if t == timeType || s.sent[t] {
			return
		}
		s.sent[t] = true
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || f.Anonymous {
				s.markSent(f.Type)
			}
		}
	}
}

// of returns the schema of a type. Structs and sets of constants become components.
func (s *schemas) of(t reflect.Type) (any, error) {
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem())
	}
	switch {
	case t == timeType:
		return fields("type", "string", "format", "date-time"), nil
	case t == rawType || t.Kind() == reflect.Interface:
		return empty{}, nil
	case t.Implements(textMarshaler) || reflect.PointerTo(t).Implements(textMarshaler):
		return fields("type", "string"), nil
	}
	switch t.Kind() {
	case reflect.String:
		return s.text(t)
	case reflect.Bool:
		return fields("type", "boolean"), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fields("type", "integer"), nil
	case reflect.Float32, reflect.Float64:
		return fields("type", "number"), nil
	case reflect.Slice, reflect.Array:
		items, err := s.of(t.Elem())
		return fields("type", "array", "items", items), err
	case reflect.Map:
		values, err := s.of(t.Elem())
		return fields("type", "object", "additionalProperties", values), err
	case reflect.Struct:
		return s.structure(t)
	}
	return nil, fmt.Errorf("no schema for %s", t)
}

// text is the schema of a string type, a component if the type has constants.
func (s *schemas) text(t reflect.Type) (any, error) {
	if t.PkgPath() == "" {
		return fields("type", "string"), nil
	}
	docs, err := s.comments.of(t.PkgPath())
	if err != nil {
		return nil, err
	}
	values := docs.members[t.Name()]
	if len(values) == 0 {
		return fields("type", "string"), nil
	}
	name, isNew := s.name(t)
	if isNew {
		list := "enum"
		if slices.Contains(s.open, t) {
			list = "examples"
		}
		s.byName[name] = fields("type", "string", "description", docs.translate(docs.types[t.Name()], nil), list, values)
	}
	return ref(name), nil
}

// structure is the schema of a struct: that of its one embedded struct if it has no members of its own.
func (s *schemas) structure(t reflect.Type) (any, error) {
	if inner := onlyEmbedded(t); inner != nil {
		return s.of(inner)
	}
	if t.Name() == "" {
		return s.properties(t, &packageComments{})
	}
	name, isNew := s.name(t)
	if !isNew {
		return ref(name), nil
	}
	s.byName[name] = nil // it may contain itself
	docs, err := s.comments.of(t.PkgPath())
	if err != nil {
		return nil, err
	}
	schema, err := s.properties(t, docs)
	s.byName[name] = schema
	return ref(name), err
}

// onlyEmbedded returns the struct that t embeds if t adds no member to it.
func onlyEmbedded(t reflect.Type) reflect.Type {
	var inner reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous && f.Tag.Get("json") == "" && inner == nil:
			if inner = f.Type; inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
		case f.Anonymous, f.IsExported() && memberName(&f) != "":
			return nil
		}
	}
	return inner
}

// memberName returns the name of a field in JSON, "" if it has none.
func memberName(f *reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch name {
	case "-":
		return ""
	case "":
		return f.Name
	}
	return name
}

// member is one property of a struct.
type member struct {
	name, doc string
	schema    any
	required  bool
}

// properties is the schema of a struct's members, with those of embedded structs.
func (s *schemas) properties(t reflect.Type, docs *packageComments) (object, error) {
	names := map[string]string{}
	for _, f := range reflect.VisibleFields(t) {
		if name := memberName(&f); name != "" && f.Name != t.Name() {
			names[f.Name] = name
		}
	}
	var properties object
	var required []string
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous && f.Tag.Get("json") == "" || !f.IsExported() || memberName(&f) == "" {
			continue
		}
		m, err := s.member(t, &f, names)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		properties = append(properties, fields(m.name, described(m.schema, m.doc))...)
		if m.required {
			required = append(required, m.name)
		}
	}
	doc := docs.translate(docs.types[t.Name()], names)
	if rest, ok := strings.CutPrefix(doc, t.Name()+" "); ok {
		doc = s.names[t] + " " + rest
	}
	return fields("type", "object", "description", doc, "properties", properties, "required", required), nil
}

func (s *schemas) member(t reflect.Type, f *reflect.StructField, names map[string]string) (m member, err error) {
	m.name = memberName(f)
	owner, isThere := declaring(t, f)
	docs, err := s.comments.of(owner.PkgPath())
	if err != nil {
		return m, err
	}
	m.doc = cmp.Or(docs.translate(docs.fields[owner.Name()][f.Name], names), f.Tag.Get("jsonschema"))
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	isOptional := slices.Contains(strings.Split(options, ","), "omitempty") || strings.Contains(options, "omitzero")
	isPointer := f.Type.Kind() == reflect.Pointer
	m.required = isThere && !isOptional && (!isPointer || s.sent[owner])
	m.schema, err = s.of(f.Type)
	if isPointer && m.required || f.Tag.Get(tag) == tagNullable {
		m.schema = nullable(m.schema)
	}
	return m, err
}

// Values of the struct tag that says what a Go type cannot say.
const (
	tag         = "openapi"
	tagAlways   = "always"   // an embedded pointer is never nil
	tagNullable = "nullable" // a list can be nil, and is null in JSON then
)

// declaring returns the struct that declares a field of t, and whether t always has that struct: one that is embedded
// by a pointer can be absent.
func declaring(t reflect.Type, f *reflect.StructField) (owner reflect.Type, isThere bool) {
	owner, isThere = t, true
	for _, i := range f.Index[:len(f.Index)-1] {
		embedded := owner.Field(i)
		if owner = embedded.Type; owner.Kind() == reflect.Pointer {
			owner = owner.Elem()
			isThere = isThere && embedded.Tag.Get(tag) == tagAlways
		}
	}
	return owner, isThere
}

// nullable returns the schema that also allows null.
func nullable(schema any) any {
	o, ok := schema.(object)
	if !ok {
		return schema // any value
	}
	if kind, ok := o[0].Value.(string); ok && o[0].Key == "type" {
		return append(fields("type", []string{kind, "null"}), o[1:]...)
	}
	return fields("anyOf", []any{schema, fields("type", "null")})
}

// described adds a description to a schema. A reference may have one beside it since OpenAPI 3.1.
func described(schema any, doc string) any {
	if doc == "" {
		return schema
	}
	o, _ := schema.(object)
	return append(slices.Clone(o), fields("description", doc)...)
}

// name returns the name of a type's component, and whether the type is seen for the first time.
func (s *schemas) name(t reflect.Type) (name string, isNew bool) {
	if known, ok := s.names[t]; ok {
		return known, false
	}
	name = capital(t.Name())
	if _, used := s.taken[name]; used {
		pkg := path.Base(t.PkgPath())
		if pkg == "api" {
			pkg = path.Base(path.Dir(t.PkgPath()))
		}
		name = capital(pkg) + name
	}
	s.names[t], s.taken[name] = name, t
	return name, true
}

func capital(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}
