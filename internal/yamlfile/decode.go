package yamlfile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Unmarshaler is a type that decodes itself. The node is no alias and not null.
type Unmarshaler interface{ UnmarshalYAML(n *Node) error }

// Decode stores the node in the variable that into points to: strings, booleans, and structs,
// slices, pointers and maps of them. The key of a struct's field is its tag "yaml", or its name in
// lower case. Unknown keys are errors; null is the zero value, and is left out of lists.
func (n *Node) Decode(into any) error { return n.decode(reflect.ValueOf(into).Elem()) }

func (n *Node) decode(to reflect.Value) error {
	n = n.resolve()
	if to.Type() == reflect.TypeFor[Node]() {
		to.Set(reflect.ValueOf(*n))
		return nil
	}
	if n.isNull {
		to.SetZero()
		return nil
	}
	if u, ok := to.Addr().Interface().(Unmarshaler); ok {
		return u.UnmarshalYAML(n)
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return n.decode(to.Elem())
	case reflect.String:
		return n.decodeString(to)
	case reflect.Bool:
		return n.decodeBool(to)
	case reflect.Slice:
		return n.decodeSlice(to)
	case reflect.Map:
		return n.decodeMap(to)
	case reflect.Struct:
		return n.decodeStruct(to)
	}
	return fmt.Errorf("yamlfile: %s cannot be decoded", to.Type())
}

var kindNames = map[Kind]string{Scalar: "a text", Sequence: "a list", Mapping: "a mapping"}

// require returns an error if the node has another kind.
func (n *Node) require(kind Kind, what string) error {
	if n.Kind == kind {
		return nil
	}
	return n.errorf("cannot unmarshal %s into %s", kindNames[n.Kind], what)
}

func (n *Node) decodeString(to reflect.Value) error {
	to.SetString(n.Value)
	return n.require(Scalar, "a text")
}

// decodeBool also reads the words of YAML 1.1, which existing files contain.
func (n *Node) decodeBool(to reflect.Value) error {
	const what = "true or false"
	if err := n.require(Scalar, what); err != nil {
		return err
	}
	word := strings.ToLower(n.Value)
	if n.isBool || slices.Contains([]string{"y", "yes", "on", "n", "no", "off"}, word) {
		to.SetBool(slices.Contains([]string{"true", "y", "yes", "on"}, word))
		return nil
	}
	return n.errorf("cannot unmarshal %q into %s", n.Value, what)
}

func (n *Node) decodeSlice(to reflect.Value) error {
	if err := n.require(Sequence, "a list"); err != nil {
		return err
	}
	to.Set(reflect.MakeSlice(to.Type(), 0, len(n.Content)))
	for _, c := range n.Content {
		if c.resolve().isNull {
			continue
		}
		entry := reflect.New(to.Type().Elem()).Elem()
		if err := c.decode(entry); err != nil {
			return err
		}
		to.Set(reflect.Append(to, entry))
	}
	return nil
}

func (n *Node) decodeMap(to reflect.Value) error {
	members, err := n.members()
	if err != nil {
		return err
	}
	to.Set(reflect.MakeMapWithSize(to.Type(), len(members)))
	for _, m := range members {
		value := reflect.New(to.Type().Elem()).Elem()
		if err := m.value.decode(value); err != nil {
			return err
		}
		to.SetMapIndex(reflect.ValueOf(m.key.Value).Convert(to.Type().Key()), value)
	}
	return nil
}

func (n *Node) decodeStruct(to reflect.Value) error {
	members, err := n.members()
	if err != nil {
		return err
	}
	fields, names := map[string]reflect.Value{}, []string{}
	for field, value := range to.Fields() {
		if !field.IsExported() {
			continue
		}
		name := field.Tag.Get("yaml")
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		fields[name], names = value, append(names, name)
	}
	for _, m := range members {
		field, known := fields[m.key.Value]
		if !known {
			return m.key.errorf("field %s not found; known are %s", m.key.Value, strings.Join(names, ", "))
		}
		if err := m.value.decode(field); err != nil {
			return err
		}
	}
	return nil
}

type member struct{ key, value *Node }

// members returns the keys and values of a mapping, with those that << merges: its own have
// precedence, then the first mapping of a list.
func (n *Node) members() ([]member, error) {
	if err := n.require(Mapping, "a mapping"); err != nil {
		return nil, err
	}
	var own []member
	var sources []*Node
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1].resolve()
		switch {
		case !key.isMerge:
			own = append(own, member{key, value})
		case value.Kind == Sequence:
			sources = value.Content
		default:
			sources = []*Node{value}
		}
	}
	seen := map[string]bool{}
	for _, m := range own {
		seen[m.key.Value] = true
	}
	for _, source := range sources {
		merged, err := source.resolve().members()
		if err != nil {
			return nil, err
		}
		for _, m := range merged {
			if !seen[m.key.Value] {
				seen[m.key.Value] = true
				own = append(own, m)
			}
		}
	}
	return own, nil
}
