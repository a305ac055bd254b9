package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"

	"bellhop/protocol"
)

// Limits of a webhook token.
const (
	Lifetime   = protocol.WebhookTokenLifetime
	Skew       = 60 * time.Second // how far ahead the clock of a signing replica may be
	MinSecret  = 32
	maxLength  = 2048
	maxID      = 128
	audience   = "agent-webhook"
	maxSeconds = 253402300799 // the end of year 9999
)

// Errors of tokens. None of them quotes the token.
var (
	ErrFormat  = errors.New("invalid token format")
	ErrPayload = errors.New("invalid token payload")
	ErrInvalid = errors.New("invalid token")
	// ErrExpired: signature and claims are valid, but exp has passed, or iat is more than
	// Skew ahead because the signing clock was ahead or has gone back. A renewal helps.
	ErrExpired = errors.New("token expired")
	// ErrSecret is a mistake of the caller, not of the token.
	ErrSecret = errors.New("webhook secret shorter than 32 bytes")
)

// Claims of a webhook token. TurnID and ID are empty if the token has none.
type Claims struct {
	TaskID, TurnID, ID  string
	IssuedAt, ExpiresAt time.Time
}

type payload struct {
	TaskID    string `json:"taskId"`
	TurnID    string `json:"turnId,omitempty"`
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
	ID        string `json:"jti"`
	Audience  string `json:"aud"`
}

// SignWebhook returns a token for the webhook of a turn and when it expires: Lifetime after
// now, in whole seconds.
func SignWebhook(secret []byte, taskID, turnID string, now time.Time) (string, time.Time, error) {
	if len(secret) < MinSecret {
		return "", time.Time{}, ErrSecret
	}
	if !usableID(taskID) || len(turnID) > maxID {
		return "", time.Time{}, fmt.Errorf("sign webhook token: task id of %d bytes, turn id of %d bytes",
			len(taskID), len(turnID))
	}
	issued := now.UTC().Truncate(time.Second)
	expires := issued.Add(Lifetime)
	body, err := json.Marshal(payload{
		TaskID: taskID, TurnID: turnID, IssuedAt: issued.Unix(), ExpiresAt: expires.Unix(),
		ID: uuid.NewString(), Audience: audience,
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign webhook token: %w", err)
	}
	header := jws.NewHeaders()
	if err := header.Set(jws.TypeKey, "JWT"); err != nil {
		return "", time.Time{}, fmt.Errorf("sign webhook token: %w", err)
	}
	signed, err := jws.Sign(body, jws.WithKey(jwa.HS256, secret, jws.WithProtectedHeaders(header)))
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign webhook token: %w", err)
	}
	if len(signed) > maxLength {
		return "", time.Time{}, fmt.Errorf("sign webhook token: %d bytes, at most %d", len(signed), maxLength)
	}
	return string(signed), expires, nil
}

// Inspect makes every check that needs no secret and returns the task that the token claims.
// The claim is unverified: use it only to look up the secret for Verify. ErrFormat: not a JWT.
// ErrPayload: no JSON object with a usable taskId. ErrInvalid: a JWT that Bellhop would not
// sign.
func Inspect(token string) (taskID string, err error) {
	c, err := parse(token)
	if err != nil {
		return "", err
	}
	return c.TaskID, nil
}

// Verify returns the claims if secret signed the token and it is valid at now. The error is
// ErrExpired if only the time is wrong, otherwise that of Inspect or ErrInvalid.
func Verify(token string, secret []byte, now time.Time) (Claims, error) {
	c, err := VerifyAnyAge(token, secret)
	if err != nil {
		return Claims{}, err
	}
	if !now.Before(c.ExpiresAt) || c.IssuedAt.After(now.Add(Skew)) {
		return Claims{}, ErrExpired
	}
	return c, nil
}

// VerifyAnyAge is Verify without a look at the clock, for renewals.
func VerifyAnyAge(token string, secret []byte) (Claims, error) {
	if len(secret) < MinSecret {
		return Claims{}, ErrSecret
	}
	c, err := parse(token)
	if err != nil {
		return Claims{}, err
	}
	// The verified bytes are those that parse has read: both use the second segment of the
	// compact form, and parse rejects every other form.
	if _, err := jws.Verify([]byte(token), jws.WithKey(jwa.HS256, secret), jws.WithCompact()); err != nil {
		return Claims{}, fmt.Errorf("%w: signature", ErrInvalid)
	}
	return c.check()
}

func usableID(id string) bool { return id != "" && len(id) <= maxID }
