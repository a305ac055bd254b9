package broker

import (
	"bytes"
	"encoding/json"
)

// marshal does not escape <, > and &, so that a host's JSON stays byte-identical.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
