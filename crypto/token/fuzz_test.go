package token_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"bellhop/crypto/token"
)

// For any input there is no panic, every error is one of this package, and a token that
// verifies has exactly the signed claims.
func FuzzToken(f *testing.F) {
	valid := forge(header, claims())
	for _, seed := range []string{
		valid, valid + ".", forge(header, "{}"), forge(`{"alg":"none"}`, claims()), "..", "e30.e30.", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := token.Inspect(s)
		known(t, err)
		if (id == "") != (err != nil) {
			t.Errorf("Inspect: %q, %v", id, err)
		}
		c, err := token.Verify(s, secret, now)
		known(t, err)
		if err == nil && c.TaskID != id {
			t.Errorf("verified %+v, inspected %q", c, id)
		}
		if err == nil && s != valid && !signedHere(s) {
			t.Errorf("accepted %q", s)
		}
	})
}

// The payloads are signed with the right secret, so that the fuzzer reaches the checks after
// the MAC.
func FuzzClaims(f *testing.F) {
	for _, seed := range []string{
		claims(), claims("exp", "1e3"), claims("aud", "[]"), `{"taskId":"a","taskId":"b"}`, "null",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		c, err := token.Verify(forge(header, payload), secret, now)
		known(t, err)
		if err == nil && (c.TaskID == "" || c.ExpiresAt.Sub(c.IssuedAt) > token.Lifetime || !now.Before(c.ExpiresAt)) {
			t.Errorf("accepted %+v", c)
		}
	})
}

// signedHere computes the MAC with the standard library only.
func signedHere(s string) bool {
	p := strings.Split(s, ".")
	if len(p) != 3 {
		return false
	}
	h, err1 := unb64(p[0])
	c, err2 := unb64(p[1])
	return err1 == nil && err2 == nil && forge(h, c) == s
}

func unb64(s string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return string(b), err
}

func known(t *testing.T, err error) {
	t.Helper()
	for _, e := range []error{nil, token.ErrFormat, token.ErrPayload, token.ErrInvalid, token.ErrExpired} {
		if errors.Is(err, e) {
			return
		}
	}
	t.Errorf("unknown error %v", err)
}
