// Package totp computes time-based one-time passwords (RFC 6238) with the parameters that every
// authenticator app knows: HMAC-SHA-1, six digits, a new code every 30 seconds.
//
// It stores nothing. The caller keeps the step of the last code that was used, and passes it to Find, so
// that no code works twice.
package totp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the algorithm of RFC 6238 that all apps know; HMAC does not need collision resistance
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"

	"bellhop/crypto/seal"
)

const (
	period = 30 // seconds
	digits = 6
	modulo = 1_000_000

	secretBytes = 20 // RFC 4226, section 4: 160 bits are recommended

	// skew is how many steps the clocks of app and server may differ, in both directions.
	skew = 1
)

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// Generate returns a new secret: 32 letters and digits (base32), as people type it into an app.
func Generate() seal.Secret {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails, see crypto/rand
	return seal.NewSecret(encoding.EncodeToString(raw))
}

// URI returns the address that apps read from a QR code. issuer is the name of the service.
func URI(secret seal.Secret, issuer, account string) string {
	return fmt.Sprintf("otpauth://totp/%s:%s?secret=%s&issuer=%s&algorithm=SHA1&digits=%d&period=%d",
		escape(issuer), escape(account), secret.Reveal(), escape(issuer), digits, period)
}

// escape writes a space as %20: some apps show a plus.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// IsCode reports whether text has the form of a code: six digits.
func IsCode(text string) bool {
	if len(text) != digits {
		return false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Code returns the code that an app shows at now.
func Code(secret seal.Secret, now time.Time) (string, error) {
	key, err := keyOf(secret)
	if err != nil {
		return "", err
	}
	return codeAt(key, now.Unix()/period), nil
}

func keyOf(secret seal.Secret) ([]byte, error) {
	key, err := encoding.DecodeString(secret.Reveal())
	if err != nil {
		return nil, fmt.Errorf("totp: the secret is no base32: %w", err)
	}
	return key, nil
}

// Find returns the step of a code: the number of its 30 seconds since 1970. It accepts a code of now and
// of the steps beside it, but only behind the step after. found is false for any other code.
func Find(secret seal.Secret, code string, now time.Time, after int64) (step int64, found bool, err error) {
	key, err := keyOf(secret)
	if err != nil {
		return 0, false, err
	}
	current := now.Unix() / period
	for at := current - skew; at <= current+skew; at++ { // all of them, so that the time reveals nothing
		if subtle.ConstantTimeCompare([]byte(codeAt(key, at)), []byte(code)) == 1 && at > after && !found {
			step, found = at, true
		}
	}
	return step, found, nil
}

// codeAt is RFC 4226, section 5.3, with the step as the counter.
func codeAt(key []byte, step int64) string {
	mac := hmac.New(sha1.New, key)
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step))) //nolint:gosec // steps after 1970 are positive
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fff_ffff
	return fmt.Sprintf("%0*d", digits, number%modulo)
}
