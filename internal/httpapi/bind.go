package httpapi

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// binding lists the fields of a request type by where their values come from.
type binding struct {
	params, queries []boundField
	hasBody         bool
}

type boundField struct {
	name  string
	index []int
}

// bindingOf panics if a body could set a field that belongs to the path or query. That is a
// programming mistake, found when routes are registered.
func bindingOf(t reflect.Type) binding {
	var b binding
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("httpapi: %s is no struct", t))
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		param, query := f.Tag.Get("param"), f.Tag.Get("query")
		switch {
		case param == "" && query == "":
			b.hasBody = b.hasBody || f.Tag.Get("json") != "-"
			continue
		case f.Tag.Get("json") != "-":
			panic(fmt.Sprintf(`httpapi: %s.%s is bound and needs json:"-"`, t, f.Name))
		case param != "":
			b.params = append(b.params, boundField{param, f.Index})
		default:
			b.queries = append(b.queries, boundField{query, f.Index})
		}
		if !settable(f.Type) {
			panic(fmt.Sprintf("httpapi: %s.%s cannot be bound", t, f.Name))
		}
	}
	return b
}

func settable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return true
	default:
		return false
	}
}

func (b *binding) bind(c echo.Context, req reflect.Value) error {
	for _, f := range b.params {
		value, err := pathParam(c, f.name)
		if err != nil {
			return err
		}
		if err := set(req.FieldByIndex(f.index), f.name, value); err != nil {
			return err
		}
	}
	if len(b.queries) == 0 {
		return nil
	}
	query, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil { // the error would quote the query
		return protocol.Errorf(protocol.CodeInvalid, "The query string is malformed")
	}
	for _, f := range b.queries {
		switch values := query[f.name]; len(values) {
		case 0:
		case 1:
			if err := set(req.FieldByIndex(f.index), f.name, values[0]); err != nil {
				return err
			}
		default:
			return protocol.Errorf(protocol.CodeInvalid, "%s is given more than once", f.name)
		}
	}
	return nil
}

// pathParam returns c.Param, unescaped if Echo matched the escaped path.
func pathParam(c echo.Context, name string) (string, error) {
	value := c.Param(name)
	if c.Request().URL.RawPath != "" {
		plain, err := url.PathUnescape(value)
		if err != nil {
			return "", protocol.Errorf(protocol.CodeInvalid, "The path is malformed")
		}
		value = plain
	}
	if value == "" {
		return "", protocol.Errorf(protocol.CodeNotFound, "Not found")
	}
	return value, nil
}

// set returns errors without the value, which may be a secret.
func set(field reflect.Value, name, value string) error {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch field.Kind() {
	case reflect.String:
		if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			return protocol.Errorf(protocol.CodeInvalid, "%s is no valid text", name)
		}
		field.SetString(value)
	case reflect.Bool:
		switch value {
		case "true", "1":
			field.SetBool(true)
		case "false", "0", "":
			field.SetBool(false)
		default:
			return protocol.Errorf(protocol.CodeInvalid, "%s must be true or false", name)
		}
	default:
		if value == "" {
			return nil
		}
		n, err := strconv.ParseInt(value, 10, field.Type().Bits())
		if err != nil {
			return protocol.Errorf(protocol.CodeInvalid, "%s must be an integer", name)
		}
		field.SetInt(n)
	}
	return nil
}
