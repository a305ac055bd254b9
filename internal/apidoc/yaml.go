package apidoc

import (
	"github.com/goccy/go-yaml"
)

// object is a YAML mapping whose keys keep their order.
type object = yaml.MapSlice

// fields returns an object of keys and values. Pairs without a value are left out: nil, "", false, empty lists and
// empty objects.
func fields(pairs ...any) object {
	var o object
	for i := 0; i+1 < len(pairs); i += 2 {
		if !isEmpty(pairs[i+1]) {
			o = append(o, yaml.MapItem{Key: pairs[i], Value: pairs[i+1]})
		}
	}
	return o
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case []string:
		return len(value) == 0
	case []any:
		return len(value) == 0
	case object:
		return len(value) == 0
	}
	return false
}

// empty is an object without members, which fields does not leave out: the schema of any value.
type empty struct{}

func ref(schema string) object { return fields("$ref", "#/components/schemas/"+schema) }

// encode writes a document as YAML.
func encode(document object) ([]byte, error) {
	return yaml.MarshalWithOptions(document, yaml.Indent(2), yaml.IndentSequence(true))
}
