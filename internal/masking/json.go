package masking

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maskStrings replaces the strings of valid JSON, where escapes can hide a secret, by the results of
// mask. It gets the names of the members that a string is in, the outermost first, and none for a name itself.
// It fails when two names of an object become equal.
func maskStrings(raw []byte, mask func(members []string, text string) string) (json.RawMessage, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	members := []string{""} // by depth; "" for an array, and where no value has begun
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		depth := dec.StackDepth()
		kind, length := dec.StackIndex(depth)
		isName := tok.Kind() == '"' && kind == '{' && length%2 == 1
		for len(members) <= depth {
			members = append(members, "")
		}
		members = members[:depth+1]
		switch {
		case isName:
			members[depth] = tok.String()
			tok = jsontext.String(mask(nil, tok.String()))
		case tok.Kind() == '"':
			tok = jsontext.String(mask(members, tok.String()))
		}
		if err := enc.WriteToken(tok); err != nil {
			return nil, err
		}
	}
}
