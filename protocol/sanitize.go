package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxValueDepth leaves room for the levels of event, events array and batch around
// a value, so that a sanitized value always passes ParseObject.
const maxValueDepth = MaxDepth - 4

// SanitizeText replaces characters that not every store accepts (U+0000, invalid
// UTF-8, lone surrogates) by U+FFFD.
func SanitizeText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// SanitizeJSON returns a value that a broker accepts inside an event. Strings are
// changed as by SanitizeText. A value that is not JSON, repeats a name or nests too
// deep becomes one JSON string of the sanitized bytes. An absent value stays
// absent.
func SanitizeJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if parseValue(raw, maxValueDepth) == nil {
		return raw
	}
	if !tooDeep(raw, maxValueDepth) {
		if clean, err := sanitizeStrings(raw); err == nil {
			return clean
		}
	}
	return quote(SanitizeText(string(raw)))
}

func quote(s string) json.RawMessage {
	quoted, err := jsontext.AppendQuote(nil, s)
	if err != nil { // only invalid UTF-8 fails, and SanitizeText removed it
		return json.RawMessage(`""`)
	}
	return quoted
}

func sanitizeStrings(raw []byte) (json.RawMessage, error) {
	// The decoder accepts duplicate names, the encoder does not: names that differ
	// only in replaced characters become equal.
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	for values := 0; ; {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) && values == 1 {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		if tok.Kind() == '"' {
			tok = jsontext.String(SanitizeText(tok.String()))
		}
		if err := enc.WriteToken(tok); err != nil {
			return nil, err
		}
		if dec.StackDepth() == 0 {
			values++
		}
		if values > 1 {
			return nil, errors.New("more than one value")
		}
	}
}
