package sequencer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"bellhop/protocol"
)

// Digest hashes the canonical form of an event without sessionId, because a batch has
// one sessionId for all its events and a single event has its own. It is the same in
// every redelivery.
func Digest(raw json.RawMessage) (string, error) { return digest(raw, nil) }

// digestAt returns the digest that the event would have at another position; "" for
// JSON that is no event.
func digestAt(raw json.RawMessage, at protocol.Cursor) string {
	text, err := digest(raw, map[string]string{
		`"epoch"`: strconv.FormatInt(at.Epoch, 10), `"seq"`: strconv.FormatInt(at.Seq, 10),
	})
	if err != nil {
		return ""
	}
	return text
}

// digest hashes all members but sessionId. replaced maps quoted names to the values that
// are hashed instead of those of the event.
func digest(raw json.RawMessage, replaced map[string]string) (string, error) {
	canonical, err := protocol.Canonical(raw)
	if err != nil {
		return "", err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(canonical))
	if _, err := dec.ReadToken(); err != nil {
		return "", protocol.Errorf(protocol.CodeInvalid, "Invalid JSON")
	}
	sum := sha256.New()
	for dec.PeekKind() == '"' {
		name, err := dec.ReadValue()
		if err != nil {
			return "", protocol.Errorf(protocol.CodeInvalid, "Invalid JSON")
		}
		skip := string(name) == `"sessionId"`
		replacement, isReplaced := replaced[string(name)]
		if !skip {
			sum.Write(name)
		}
		value, err := dec.ReadValue()
		if err != nil {
			return "", protocol.Errorf(protocol.CodeInvalid, "Invalid JSON")
		}
		if isReplaced {
			value = jsontext.Value(replacement)
		}
		if !skip {
			sum.Write([]byte{':'})
			sum.Write(value)
			sum.Write([]byte{','})
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
