package signature

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bellhop/protocol"
)

// The headers of a signed request.
const (
	HeaderID        = webhooks.HeaderWebhookID
	HeaderTimestamp = webhooks.HeaderWebhookTimestamp
	HeaderSignature = webhooks.HeaderWebhookSignature
)

// Tolerance is how far a timestamp may differ from now, in both directions.
const Tolerance = 5 * time.Minute

const maxID = 128

// Sign sets the three headers for body, which must then be sent unchanged. Every key adds a
// signature; a receiver needs one match.
func Sign(header http.Header, id string, at time.Time, body []byte, keys ...Key) error {
	if !usableID(id) || len(keys) == 0 {
		return errors.New("signature: needs an id of 1 to 128 letters, digits, - and _, and a key")
	}
	signatures := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if signatures[i], err = key.webhook.Sign(id, at, body); err != nil {
			return err
		}
	}
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(HeaderSignature, strings.Join(signatures, " "))
	return nil
}

// Verify checks a request against any of keys. CodeSignatureMissing: a header is missing or
// malformed. CodeSignatureInvalid: no key matches; it never reveals which nearly did.
// CodeSignatureTime: a key matches, but the timestamp is too far away.
func Verify(header http.Header, body []byte, now time.Time, keys ...Key) error {
	seconds, err := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64)
	if err != nil || !usableID(header.Get(HeaderID)) || header.Get(HeaderSignature) == "" {
		return protocol.Errorf(protocol.CodeSignatureMissing, "The webhook headers are missing or malformed")
	}
	matches := func(key Key) bool { return key.webhook.VerifyIgnoringTimestamp(body, header) == nil }
	if !slices.ContainsFunc(keys, matches) {
		return protocol.Errorf(protocol.CodeSignatureInvalid, "The webhook signature does not match")
	}
	if at := time.Unix(seconds, 0); at.Before(now.Add(-Tolerance)) || at.After(now.Add(Tolerance)) {
		return protocol.Errorf(protocol.CodeSignatureTime, "The webhook timestamp is too far away")
	}
	return nil
}

// usableID rejects dots: with one, bytes could move from the id to the timestamp under the same
// signature.
func usableID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
