package yamlfile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decode stores a node in the variable that into points to: strings, booleans, and structs, slices, pointers and maps of
// them. Unknown keys are errors; null is the zero value, and is left out of lists. A type that implements
// yaml.Unmarshaler decodes itself, and calls Decode for its parts.
func Decode(n *Node, into any) error {
	if err := fit(n, reflect.TypeOf(into).Elem(), true); err != nil {
		return err
	}
	return n.Decode(into)
}

var kindNames = map[yaml.Kind]string{Scalar: "a text", Sequence: "a list", Mapping: "a mapping"}

// fit reports whether a node can be decoded into a type. own is whether the type's own UnmarshalYAML is not asked.
func fit(n *Node, to reflect.Type, own bool) error {
	n = resolve(n)
	if isNull(n) || to == reflect.TypeFor[Node]() || !own && reflect.PointerTo(to).Implements(reflect.TypeFor[yaml.Unmarshaler]()) {
		return nil
	}
	switch to.Kind() {
	case reflect.Pointer:
		return fit(n, to.Elem(), false)
	case reflect.String:
		return require(n, Scalar, "a text")
	case reflect.Bool:
		return fitBool(n)
	case reflect.Slice:
		err := require(n, Sequence, "a list")
		for i := 0; err == nil && i < len(n.Content); i++ {
			err = fit(n.Content[i], to.Elem(), false)
		}
		return err
	case reflect.Map, reflect.Struct:
		return fitMembers(n, to)
	}
	return fmt.Errorf("yamlfile: %s cannot be decoded", to)
}

func require(n *Node, kind yaml.Kind, what string) error {
	if n.Kind == kind {
		return nil
	}
	return errorAt(n.Line, "cannot unmarshal %s into %s", kindNames[n.Kind], what)
}

// fitBool also takes the words of YAML 1.1, which existing files contain.
func fitBool(n *Node) error {
	const what = "true or false"
	if err := require(n, Scalar, what); err != nil {
		return err
	}
	switch word := strings.ToLower(n.Value); {
	case n.ShortTag() == "!!bool":
	case slices.Contains([]string{"y", "yes", "on"}, word):
		n.Value, n.Tag, n.Style = "true", "!!bool", 0
	case slices.Contains([]string{"n", "no", "off"}, word):
		n.Value, n.Tag, n.Style = "false", "!!bool", 0
	default:
		return errorAt(n.Line, "cannot unmarshal %q into %s", n.Value, what)
	}
	return nil
}

// fitMembers checks a mapping and those that << merges into it.
func fitMembers(n *Node, to reflect.Type) error {
	if err := require(n, Mapping, "a mapping"); err != nil {
		return err
	}
	var fields map[string]reflect.Type
	var names []string
	if to.Kind() == reflect.Struct {
		fields, names = fieldsOf(to)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		if key.ShortTag() == "!!merge" {
			sources := []*Node{value}
			if value.Kind == Sequence {
				sources = value.Content
			}
			for _, source := range sources {
				if err := fitMembers(resolve(source), to); err != nil {
					return err
				}
			}
			continue
		}
		member, known := fields[key.Value]
		if to.Kind() == reflect.Map {
			member, known = to.Elem(), true
		}
		if !known {
			return errorAt(key.Line, "field %s not found; known are %s", key.Value, strings.Join(names, ", "))
		}
		if err := fit(value, member, false); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf returns the types of a struct's fields by their keys: the tag "yaml", or the name in lower case.
func fieldsOf(t reflect.Type) (types map[string]reflect.Type, names []string) {
	types = map[string]reflect.Type{}
	for field := range t.Fields() {
		if !field.IsExported() {
			continue
		}
		name := field.Tag.Get("yaml")
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		types[name], names = field.Type, append(names, name)
	}
	return types, names
}
