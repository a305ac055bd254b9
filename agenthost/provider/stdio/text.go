package stdio

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"bellhop/internal/openflag"
)

// Object is a JSON object without a Go type of its own.
type Object map[string]any

// Encode encodes decoded JSON and plain values. For these, encoding cannot fail.
func Encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`null`)
	}
	return raw
}

// OrEmpty returns an empty object for a missing value.
func OrEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`)
	}
	return raw
}

// Excerpt returns the beginning of a line as printable text.
func Excerpt(line []byte) string {
	const most = 120
	cut := ""
	if len(line) > most {
		line, cut = line[:most], "…"
	}
	return strings.Trim(fmt.Sprintf("%+q", line), `"`) + cut
}

// ModelError returns the message in a model provider's error response, or "" if the
// text is not such a response.
func ModelError(text string) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(text), &body)
	return body.Error.Message
}

// ReadMemory returns at most limit bytes of a repository's memory file. It returns
// "" unless it is a regular file of the directory: a link could show one of the host's files
// to the model.
func ReadMemory(dir, name string, limit int64) string {
	file, err := openflag.Open(dir, name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return ""
	}
	return string(text)
}
