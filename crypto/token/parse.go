package token

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// strict rejects padding and non-zero trailing bits. It would skip CR and LF, but inAlphabet
// rejects them first.
var strict = base64.RawURLEncoding.Strict()

// rawClaims are parsed but not verified; only TaskID was checked.
type rawClaims struct {
	TaskID string
	all    map[string]jsontext.Value
}

func parse(token string) (rawClaims, error) {
	if len(token) > maxLength || !inAlphabet(token) {
		return rawClaims{}, ErrFormat
	}
	segments := strings.Split(token, ".")
	if len(segments) != 3 {
		return rawClaims{}, ErrFormat
	}
	var decoded [3][]byte
	for i, s := range segments {
		b, err := strict.DecodeString(s)
		if err != nil {
			return rawClaims{}, ErrFormat
		}
		decoded[i] = b
	}
	header, headerErr := object(decoded[0])
	if headerErr != nil && !errors.Is(headerErr, jsontext.ErrDuplicateName) {
		return rawClaims{}, ErrFormat
	}
	claims, claimsErr := object(decoded[1])
	switch {
	case claimsErr != nil && !errors.Is(claimsErr, jsontext.ErrDuplicateName):
		return rawClaims{}, ErrPayload
	case headerErr != nil || claimsErr != nil:
		return rawClaims{}, fmt.Errorf("%w: duplicate name", ErrInvalid)
	}
	var taskID string
	if json.Unmarshal(claims["taskId"], &taskID) != nil || !usableID(taskID) {
		return rawClaims{}, ErrPayload
	}
	if err := checkHeader(header); err != nil {
		return rawClaims{}, err
	}
	return rawClaims{TaskID: taskID, all: claims}, nil
}

func inAlphabet(token string) bool {
	for _, c := range []byte(token) {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

var errNotObject = errors.New("not a JSON object")

// object rejects duplicate names, at any depth, and invalid UTF-8.
func object(b []byte) (map[string]jsontext.Value, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errNotObject
	}
	return members, nil
}

// checkHeader allows only HS256 and no header that would change how to verify (RFC 8725,
// sections 3.1 and 3.10).
func checkHeader(header map[string]jsontext.Value) error {
	if string(header["alg"]) != `"HS256"` {
		return fmt.Errorf("%w: alg is not HS256", ErrInvalid)
	}
	for name := range header {
		switch {
		case name == "crit", name == "b64", name == "jwk", name == "jku",
			name == "zip", name == "enc", strings.HasPrefix(name, "x5"):
			return fmt.Errorf("%w: header member not allowed", ErrInvalid)
		}
	}
	return nil
}

// check applies every rule on claims that needs no clock.
func (c rawClaims) check() (Claims, error) {
	if !c.forWebhook() {
		return Claims{}, fmt.Errorf("%w: aud", ErrInvalid)
	}
	issued, ok := c.seconds("iat")
	if !ok {
		return Claims{}, fmt.Errorf("%w: iat", ErrInvalid)
	}
	expires, ok := c.seconds("exp")
	if !ok {
		return Claims{}, fmt.Errorf("%w: exp", ErrInvalid)
	}
	turnID, ok1 := c.text("turnId")
	id, ok2 := c.text("jti")
	switch {
	case !ok1 || !ok2:
		return Claims{}, fmt.Errorf("%w: turnId or jti is no string", ErrInvalid)
	case !expires.After(issued):
		return Claims{}, fmt.Errorf("%w: exp is not after iat", ErrInvalid)
	case expires.Sub(issued) > Lifetime:
		return Claims{}, fmt.Errorf("%w: exp is too long after iat", ErrInvalid)
	}
	return Claims{TaskID: c.TaskID, TurnID: turnID, ID: id, IssuedAt: issued, ExpiresAt: expires}, nil
}

// forWebhook accepts the string form and the array form with one element (RFC 7519, section
// 4.1.3).
func (c rawClaims) forWebhook() bool {
	var one string
	if json.Unmarshal(c.all["aud"], &one) == nil {
		return one == audience
	}
	var many []string
	return json.Unmarshal(c.all["aud"], &many) == nil && len(many) == 1 && many[0] == audience
}

// seconds accepts only plain non-negative integers that time.Time can hold: no string, sign,
// fraction or exponent.
func (c rawClaims) seconds(name string) (time.Time, bool) {
	n, err := strconv.ParseUint(string(c.all[name]), 10, 63)
	if err != nil || n > maxSeconds {
		return time.Time{}, false
	}
	return time.Unix(int64(n), 0).UTC(), true
}

// text returns "" for an absent claim and false if it is not a string.
func (c rawClaims) text(name string) (string, bool) {
	raw, present := c.all[name]
	if !present {
		return "", true
	}
	if raw.Kind() != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil && len(s) <= maxLength
}
