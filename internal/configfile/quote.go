package configfile

import (
	"fmt"
	"strings"
)

// JSON escapes value for the inside of a JSON string or a TOML basic string, without the
// quotes. Bytes that are not UTF-8 become U+FFFD, as neither format can hold them.
func JSON(value string) string {
	var out strings.Builder
	out.Grow(len(value))
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			// TOML requires DEL to be escaped; JSON allows it.
			_, _ = fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r) // range yields U+FFFD for bytes that are not UTF-8
		}
	}
	return out.String()
}
