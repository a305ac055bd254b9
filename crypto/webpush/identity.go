package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"

	"bellhop/crypto/seal"
)

// tokenLife is below the day that push services allow.
const tokenLife = 12 * time.Hour

// ErrKey means that a text is no key of an Identity. It does not quote the text.
var ErrKey = errors.New("the key of the notifications is not usable")

// Identity is the key pair by which push services know a sender.
type Identity struct {
	key    *ecdsa.PrivateKey
	public string
}

// Generate returns the key of a new Identity, as Parse reads it.
func Generate() (seal.Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return seal.Secret{}, fmt.Errorf("webpush: %w", err)
	}
	raw, err := key.Bytes()
	if err != nil {
		return seal.Secret{}, fmt.Errorf("webpush: %w", err)
	}
	return seal.NewSecret(base64.RawURLEncoding.EncodeToString(raw)), nil
}

// Parse reads a key that Generate returned: the base64url of 32 bytes. Anything else is ErrKey.
func Parse(secret seal.Secret) (*Identity, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(secret.Reveal())
	if err != nil {
		return nil, ErrKey
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, ErrKey
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, ErrKey
	}
	return &Identity{key: key, public: base64.RawURLEncoding.EncodeToString(public)}, nil
}

// PublicKey is the applicationServerKey of subscriptions: the base64url of the uncompressed point.
func (i *Identity) PublicKey() string { return i.public }

type claims struct {
	Audience  string `json:"aud"`
	ExpiresAt int64  `json:"exp"`
	Subject   string `json:"sub"`
}

// Authorization returns the value of the header Authorization of a request to a push service. contact is an https or
// mailto URI, by which the operator of the push service reaches the operator of this sender.
func (i *Identity) Authorization(endpoint, contact string, now time.Time) (string, error) {
	to, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("webpush: the address of the push service is malformed")
	}
	payload, err := json.Marshal(claims{
		Audience: to.Scheme + "://" + to.Host, ExpiresAt: now.Add(tokenLife).Unix(), Subject: contact,
	})
	if err != nil {
		return "", fmt.Errorf("webpush: %w", err)
	}
	header := jws.NewHeaders()
	if err := header.Set(jws.TypeKey, "JWT"); err != nil {
		return "", fmt.Errorf("webpush: %w", err)
	}
	token, err := jws.Sign(payload, jws.WithKey(jwa.ES256, i.key, jws.WithProtectedHeaders(header)))
	if err != nil {
		return "", fmt.Errorf("webpush: %w", err)
	}
	return "vapid t=" + string(token) + ", k=" + i.public, nil
}
