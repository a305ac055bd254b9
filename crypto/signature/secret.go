package signature

import (
	"crypto/rand"
	"encoding/base64"
	"strings"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

const (
	prefix       = "whsec_"
	minKey       = 24
	maxKey       = 64
	generatedKey = 32
)

// Key signs and verifies.
type Key struct{ webhook *webhooks.Webhook }

// Generate returns a secret of 32 random bytes in the format that Parse reads.
func Generate() seal.Secret {
	raw := make([]byte, generatedKey)
	_, _ = rand.Read(raw) // never fails
	return seal.NewSecret(prefix + base64.StdEncoding.EncodeToString(raw))
}

// Parse reads "whsec_" and the base64 of 24 to 64 bytes; anything else is CodeInvalid. The
// library would accept an empty secret and line feeds within it.
func Parse(secret seal.Secret) (Key, error) {
	encoded, ok := strings.CutPrefix(secret.Reveal(), prefix)
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(raw) < minKey || len(raw) > maxKey || strings.ContainsAny(encoded, "\r\n") {
		return Key{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The webhook secret is not usable",
			Hint: "Send whsec_ followed by the base64 of 24 to 64 random bytes, or none to have one made",
		}
	}
	webhook, err := webhooks.NewWebhookRaw(raw)
	return Key{webhook: webhook}, err
}
