package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ContentEncoding is the value of the header Content-Encoding of an encrypted message.
const ContentEncoding = "aes128gcm"

const (
	saltSize   = 16
	authSize   = 16
	keySize    = 16
	nonceSize  = 12
	recordSize = 4096 // every push service must take a body of this size (RFC 8030, section 7.2)
	overhead   = saltSize + 4 + 1 + 65 + 1 + 16

	// MaxMessage is the largest message in bytes.
	MaxMessage = recordSize - overhead
)

// Errors of this package. None of them quotes a key or a message.
var (
	// ErrReceiver means that keys of a subscription are malformed.
	ErrReceiver = errors.New("the keys of the subscription are not usable")
	// ErrTooLarge means that a message has more than MaxMessage bytes.
	ErrTooLarge = errors.New("the message is too large")
)

// Receiver encrypts messages for one browser.
type Receiver struct {
	public *ecdh.PublicKey
	auth   []byte
}

// ParseReceiver reads the keys of a PushSubscription, in base64url with or without padding. ErrReceiver: the public
// key is no point of P-256, or the secret does not have 16 bytes.
func ParseReceiver(p256dh, auth string) (*Receiver, error) {
	point, err := decode(p256dh)
	if err != nil {
		return nil, err
	}
	public, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, ErrReceiver
	}
	secret, err := decode(auth)
	if err != nil || len(secret) != authSize {
		return nil, ErrReceiver
	}
	return &Receiver{public: public, auth: secret}, nil
}

func decode(text string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(text, "="))
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return nil, ErrReceiver
	}
	return raw, nil
}

// Encrypt returns the body of a request to the push service. Each call uses new keys, so two bodies of the same
// message have nothing in common. ErrTooLarge: the message has more than MaxMessage bytes.
func (r *Receiver) Encrypt(message []byte) ([]byte, error) {
	sender, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("webpush: %w", err)
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	return r.encrypt(message, sender, salt)
}

func (r *Receiver) encrypt(message []byte, sender *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	if len(message) > MaxMessage {
		return nil, ErrTooLarge
	}
	key, nonce, err := r.derive(sender, salt)
	if err != nil {
		return nil, fmt.Errorf("webpush: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("webpush: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("webpush: %w", err)
	}
	from := sender.PublicKey().Bytes()
	body := make([]byte, 0, overhead+len(message))
	body = append(body, salt...)
	body = binary.BigEndian.AppendUint32(body, recordSize)
	body = append(append(body, byte(len(from))), from...)
	const lastRecord = 0x02
	return gcm.Seal(body, nonce, append(append([]byte{}, message...), lastRecord), nil), nil
}

// derive returns the key and the nonce of a message (RFC 8291, section 3.4).
func (r *Receiver) derive(sender *ecdh.PrivateKey, salt []byte) (key, nonce []byte, err error) {
	shared, err := sender.ECDH(r.public)
	if err != nil {
		return nil, nil, err
	}
	info := "WebPush: info\x00" + string(r.public.Bytes()) + string(sender.PublicKey().Bytes())
	secret, err := hkdf.Key(sha256.New, shared, r.auth, info, sha256.Size)
	if err != nil {
		return nil, nil, err
	}
	if key, err = hkdf.Key(sha256.New, secret, salt, "Content-Encoding: aes128gcm\x00", keySize); err != nil {
		return nil, nil, err
	}
	nonce, err = hkdf.Key(sha256.New, secret, salt, "Content-Encoding: nonce\x00", nonceSize)
	return key, nonce, err
}
