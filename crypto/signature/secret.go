package signature

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

const (
	prefix       = "whsec_"
	minKey       = 24
	maxKey       = 64
	minText      = 16
	maxText      = 256
	generatedKey = 32
	sessionInfo  = "bellhop webhook signature 1"
)

// Key signs and verifies.
type Key struct{ webhook *webhooks.Webhook }

// Generate returns a secret of 32 random bytes in the format that Parse reads.
func Generate() seal.Secret {
	raw := make([]byte, generatedKey)
	_, _ = rand.Read(raw) // never fails
	return seal.NewSecret(prefix + base64.StdEncoding.EncodeToString(raw))
}

// Parse reads "whsec_" and the base64 of 24 to 64 bytes, or a text without this prefix: 16 to 256
// printable characters, whose UTF-8 bytes are the key. Anything else is CodeInvalid.
func Parse(secret seal.Secret) (Key, error) {
	raw, ok := keyOf(secret.Reveal())
	if !ok {
		return Key{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The webhook secret is not usable",
			Hint: "Send whsec_ followed by the base64 of 24 to 64 random bytes, 16 to 256 printable characters without " +
				"this prefix, or none to have one made",
		}
	}
	webhook, err := webhooks.NewWebhookRaw(raw)
	return Key{webhook: webhook}, err
}

// keyOf returns the key of a secret. The library would accept an empty secret, line feeds within it,
// and base64 without the prefix.
func keyOf(secret string) (raw []byte, ok bool) {
	encoded, prefixed := strings.CutPrefix(secret, prefix)
	if !prefixed {
		n := utf8.RuneCountInString(secret)
		printable := utf8.ValidString(secret) && !strings.ContainsFunc(secret, unprintable)
		return []byte(secret), printable && n >= minText && n <= maxText
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return raw, err == nil && len(raw) >= minKey && len(raw) <= maxKey && !strings.ContainsAny(encoded, "\r\n")
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// OfSession returns the key that a host signs the posts of a session with: HKDF-SHA256 of the agent
// password, with the session's id as salt. An empty password is an error, because it
// proves nothing.
func OfSession(password seal.Secret, sessionID string) (Key, error) {
	if password.IsZero() || sessionID == "" {
		return Key{}, errors.New("signature: a session's key needs a password and a session id")
	}
	raw, err := hkdf.Key(sha256.New, []byte(password.Reveal()), []byte(sessionID), sessionInfo, sha256.Size)
	if err != nil {
		return Key{}, err
	}
	webhook, err := webhooks.NewWebhookRaw(raw)
	return Key{webhook: webhook}, err
}
