package protocol

import (
	"bytes"
	"encoding/json"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// encoder is a buffer and what writes JSON into it, for use again and again.
type encoder struct {
	out  bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.out)
	e.json.SetEscapeHTML(false)
	return e
}}

// maxKeptBuffer bounds the buffers that wait for the next use.
const maxKeptBuffer = 64 << 10

// Marshal encodes JSON without escaping <, > and &: escapes would make text longer,
// and change JSON that another program sent.
func Marshal(v any) (json.RawMessage, error) {
	e := encoders.Get().(*encoder)
	defer func() {
		if e.out.Cap() <= maxKeptBuffer {
			encoders.Put(e)
		}
	}()
	e.out.Reset()
	if err := e.json.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(e.out.Bytes(), []byte("\n"))), nil
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
