package webpush

import (
	"bytes"
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"bellhop/crypto/seal"
)

func raw(t *testing.T, text string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	examplePublic = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	exampleAuth   = "BTBZMqHH6r4Tts7J_aSIgg"
)

// The values are those of RFC 8291, section 5.
func TestTheExampleOfTheStandard(t *testing.T) {
	t.Parallel()
	receiver, err := ParseReceiver(examplePublic, exampleAuth)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := ecdh.P256().NewPrivateKey(raw(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := receiver.encrypt([]byte("When I grow up, I want to be a watermelon"), sender,
		raw(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w" +
		"EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if got := base64.RawURLEncoding.EncodeToString(body); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestABodyIsNeverRepeated(t *testing.T) {
	t.Parallel()
	receiver, err := ParseReceiver(examplePublic+"=", exampleAuth+"==")
	if err != nil {
		t.Fatal(err)
	}
	one, err1 := receiver.Encrypt([]byte("x"))
	two, err2 := receiver.Encrypt([]byte("x"))
	if err1 != nil || err2 != nil || bytes.Equal(one[:saltSize], two[:saltSize]) || bytes.Equal(one[21:86], two[21:86]) {
		t.Error(err1, err2, "salt or key were used twice")
	}
}

func TestTheLargestMessage(t *testing.T) {
	t.Parallel()
	receiver, err := ParseReceiver(examplePublic, exampleAuth)
	if err != nil {
		t.Fatal(err)
	}
	body, err := receiver.Encrypt(bytes.Repeat([]byte("x"), MaxMessage))
	if err != nil || len(body) != recordSize {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if _, err := receiver.Encrypt(bytes.Repeat([]byte("x"), MaxMessage+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func TestKeysThatAreNotUsable(t *testing.T) {
	t.Parallel()
	offCurve := base64.RawURLEncoding.EncodeToString(append([]byte{4}, bytes.Repeat([]byte{1}, 64)...))
	zero := base64.RawURLEncoding.EncodeToString([]byte{0})
	for _, c := range []struct{ name, p256dh, auth string }{
		{"nothing", "", ""},
		{"no point", offCurve, exampleAuth},
		{"the point at infinity", zero, exampleAuth},
		{"half a point", examplePublic[:40], exampleAuth},
		{"a line feed", examplePublic[:10] + "\n" + examplePublic[10:], exampleAuth},
		{"base64 of another alphabet", strings.NewReplacer("_", "/", "-", "+").Replace(examplePublic), exampleAuth},
		{"a short secret", examplePublic, exampleAuth[:10]},
		{"a long secret", examplePublic, exampleAuth + exampleAuth},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseReceiver(c.p256dh, c.auth); !errors.Is(err, ErrReceiver) {
				t.Error(err)
			}
		})
	}
}

func TestIdentities(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("_", 43), exampleAuth} {
		if _, err := Parse(seal.NewSecret(bad)); !errors.Is(err, ErrKey) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	secret, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	one, err := Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(secret)
	if err != nil || one.PublicKey() != again.PublicKey() || len(raw(t, one.PublicKey())) != 65 {
		t.Error(err, one.PublicKey(), again.PublicKey())
	}
	if _, err := one.Authorization("https://push.example\x7f/", "mailto:a@example.org", time.Now()); err == nil {
		t.Error("accepted a malformed address")
	}
}

// For any keys there is no panic, and keys that are accepted encrypt.
func FuzzReceiver(f *testing.F) {
	f.Add(examplePublic, exampleAuth)
	f.Add("", "")
	f.Fuzz(func(t *testing.T, p256dh, auth string) {
		receiver, err := ParseReceiver(p256dh, auth)
		if err != nil {
			if !errors.Is(err, ErrReceiver) {
				t.Error(err)
			}
			return
		}
		if _, err := receiver.Encrypt([]byte("x")); err != nil {
			t.Error(err)
		}
	})
}
