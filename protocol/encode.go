package protocol

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Marshal encodes JSON without escaping <, > and &: escapes would make text longer,
// and change JSON that another program sent.
func Marshal(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// CutText returns the longest beginning of s of at most n bytes that ends between
// characters.
func CutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// CutValue bounds a JSON value to limit bytes, at least 2. A longer value becomes a
// string of its beginning.
func CutValue(raw json.RawMessage, limit int) (_ json.RawMessage, truncated bool) {
	if len(raw) <= limit {
		return raw, false
	}
	text := string(raw)
	if raw[0] == '"' {
		if unquoted, err := jsontext.AppendUnquote(nil, raw); err == nil {
			text = string(unquoted)
		}
	}
	for n := limit - 2; ; n = n * 3 / 4 { // escapes can make a shorter text longer than the limit
		quoted, err := jsontext.AppendQuote(nil, CutText(text, n))
		if err == nil && len(quoted) <= limit {
			return quoted, true
		}
		if n == 0 {
			return json.RawMessage(`""`), true
		}
	}
}
