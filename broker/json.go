package broker

import (
	"bytes"
	"encoding/json"
)

// marshal leaves <, > and & as they are, so that what a host sent inside comes
// out as it went in.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
