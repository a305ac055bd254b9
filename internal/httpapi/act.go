package httpapi

import (
	"net/http"
	"strings"

	"bellhop/internal/requestid"
	"bellhop/protocol"
)

// ActKey returns the key of an act, "" for a request without one. CodeInvalid: it is none.
func ActKey(header http.Header) (string, error) {
	sent := header.Values(protocol.HeaderAct)
	if len(sent) == 0 {
		return "", nil
	}
	key := strings.Trim(sent[0], `"`)
	if len(sent) > 1 || !requestid.Valid(key) {
		return "", &protocol.Error{
			Code: protocol.CodeInvalid, Message: protocol.HeaderAct + " is no key",
			Hint: "Send 1 to 64 of A-Z, a-z, 0-9, - and _: one key for each act, the same if you send it again",
		}
	}
	return key, nil
}
