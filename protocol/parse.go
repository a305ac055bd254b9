package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ParseObject checks a body from another program: a JSON object in valid UTF-8,
// without lone surrogates, without U+0000 in any name or string (PostgreSQL text
// cannot store it), without duplicate names, nested at most MaxDepth deep. Failures
// are CodeInvalid.
func ParseObject(raw []byte) error {
	if err := parseValue(raw, MaxDepth); err != nil {
		return err
	}
	if jsontext.Value(raw).Kind() != '{' {
		return errNotObject()
	}
	return nil
}

func errNotObject() error {
	return &Error{Code: CodeInvalid, Message: "The body must be a JSON object"}
}

// Decode checks raw like ParseObject and decodes it strictly into v, a pointer to a
// struct: names match exactly, unknown members are ignored, and a value of another
// type is CodeInvalid with the member in the message. null counts as absent.
func Decode(raw []byte, v any) error {
	if err := ParseObject(raw); err != nil {
		return err
	}
	return decode("", raw, v)
}

// ParseLine parses one line of the headless interface. The type must be a string;
// the caller checks whether it is a known one. Unknown members are ignored, except those
// that look like another spelling of a known one. With an error, the line has what could
// be read, or is nil.
func ParseLine(raw []byte) (*Line, error) {
	var line Line
	if err := Decode(raw, &line); err != nil {
		return nil, err
	}
	if err := checkSpelling(splitValid(raw)); err != nil {
		return &line, err
	}
	if line.Type == "" {
		return nil, Errorf(CodeInvalid, "type is required")
	}
	return &line, nil
}

func parseValue(raw []byte, depth int) error {
	if len(raw) == 0 {
		return &Error{Code: CodeInvalid, Message: "The body is empty", Hint: "Send a JSON object"}
	}
	if tooDeep(raw, depth) {
		return Errorf(CodeInvalid, "The body is nested deeper than %d levels", depth)
	}
	if !jsontext.Value(raw).IsValid() {
		_, err := jsontext.AppendFormat(nil, raw) // parses again to get the reason
		return syntaxError(err)
	}
	if hasNUL(raw) {
		return Errorf(CodeInvalid, "The body holds U+0000, which cannot be stored")
	}
	return nil
}

// decode decodes valid JSON of the member at, or of a body if at is "".
func decode(at string, raw []byte, v any) error {
	err := json.Unmarshal(raw, v, integers)
	if err == nil {
		return nil
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return syntaxError(err)
	}
	name := strings.ReplaceAll(strings.TrimPrefix(at+string(semantic.JSONPointer), "/"), "/", ".")
	if name == "" {
		name = "The body"
	}
	return &Error{
		Code:    CodeInvalid,
		Message: fmt.Sprintf("%s must be %s", shorten(name), wanted(semantic.GoType)),
		Err:     err,
	}
}

// integers decodes plain decimal integers; the decoder alone would accept -0 as 0.
var integers = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFunc(func(raw []byte, dst *int64) error { return integer(raw, 64, dst) }),
	json.UnmarshalFunc(func(raw []byte, dst *int) error { return integer(raw, strconv.IntSize, dst) }),
))

func integer[T int | int64](raw []byte, bits int, dst *T) error {
	switch string(raw) {
	case "null":
		return nil
	case "-0":
		return errors.New("-0 is no integer")
	}
	n, err := strconv.ParseInt(string(raw), 10, bits)
	*dst = T(n)
	return err
}

// wanted returns the JSON name of a Go type for an error message.
func wanted(t reflect.Type) string {
	if t == nil {
		return "of another type"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct:
		if t.PkgPath() == "time" {
			return "an RFC 3339 time"
		}
		return "an object"
	default:
		return "an object"
	}
}

func syntaxError(err error) error {
	if err == nil {
		return &Error{Code: CodeInvalid, Message: "Invalid JSON"}
	}
	reason := err.Error()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		reason = syntactic.Err.Error()
		if errors.Is(syntactic.Err, jsontext.ErrDuplicateName) {
			reason = "duplicate member name"
		}
		reason = fmt.Sprintf("%s (at byte %d)", reason, syntactic.ByteOffset)
	}
	return &Error{Code: CodeInvalid, Message: "Invalid JSON: " + shorten(reason), Err: err}
}

// shorten limits a sender's text in an error message.
func shorten(s string) string {
	const most = 120
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return CutText(s, most) + "…"
}

// tooDeep counts brackets outside strings, before any parser recurses.
func tooDeep(raw []byte, limit int) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// hasNUL searches valid JSON for an escaped U+0000; an unescaped one is a syntax
// error.
func hasNUL(raw []byte) bool {
	for i := 0; i+5 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if string(raw[i+1:i+6]) == "u0000" {
			return true
		}
		i++ // the escaped character, which may be another backslash
	}
	return false
}
