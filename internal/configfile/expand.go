package configfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellhop/protocol"
)

// Expand replaces each ${NAME} of template by quote of the variable's value; a nil quote
// inserts values unchanged. "$$" becomes a dollar sign, any other "$" stays. An unknown name is
// CodeInvalid; the error lists the known names but never a value.
func Expand(template string, variables map[string]string, quote func(string) string) (string, error) {
	var out strings.Builder
	out.Grow(len(template))
	for rest := template; ; {
		before, after, found := strings.Cut(rest, "$")
		out.WriteString(before)
		switch {
		case !found:
			return out.String(), nil
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			rest = after[1:]
		case strings.HasPrefix(after, "{"):
			name, tail, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", protocol.Errorf(protocol.CodeInvalid, "the template has a ${ without its }")
			}
			value, known := variables[name]
			if !known {
				return "", unknown(name, variables)
			}
			if quote != nil {
				value = quote(value)
			}
			out.WriteString(value)
			rest = tail
		default:
			out.WriteByte('$')
			rest = after
		}
	}
}

func unknown(name string, variables map[string]string) error {
	known := "There are none here."
	if len(variables) > 0 {
		known = "Known ones: " + strings.Join(slices.Sorted(maps.Keys(variables)), ", ") + "."
	}
	return &protocol.Error{
		Code:    protocol.CodeInvalid,
		Message: fmt.Sprintf("the template names an unknown variable ${%s}", name),
		Hint:    known + " A dollar sign itself is written $$.",
	}
}
