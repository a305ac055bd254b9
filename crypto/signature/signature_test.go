package signature_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func secretOf(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, n))
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, secret string
		ok           bool
	}{
		{"24 bytes", secretOf(24), true},
		{"64 bytes", secretOf(64), true},
		{"23 bytes", secretOf(23), false},
		{"65 bytes", secretOf(65), false},
		{"nothing", "", false},
		{"only the prefix", "whsec_", false},
		{"base64 without the prefix is a text", strings.TrimPrefix(secretOf(32), "whsec_"), true},
		{"16 characters", strings.Repeat("x", 16), true},
		{"256 characters", strings.Repeat("ä", 256), true},
		{"15 characters", strings.Repeat("ä", 15), false},
		{"257 characters", strings.Repeat("x", 257), false},
		{"a space", "correct horse battery staple", true},
		{"a tab", "correct\thorse battery staple", false},
		{"a line feed at the end", "correct horse battery staple\n", false},
		{"no UTF-8", strings.Repeat("x", 16) + "\xff", false},
		{"no base64", "whsec_" + strings.Repeat("!", 40), false},
		{"a line feed inside", secretOf(24)[:12] + "\n" + secretOf(24)[12:], false},
		{"no padding", strings.TrimRight(secretOf(25), "="), false},
		{"changed padding bits", "whsec_" + strings.Repeat("A", 33) + "B==", false},
		{"base64url", "whsec_" + strings.Repeat("-_-_", 8), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := signature.Parse(seal.NewSecret(c.secret))
			if (err == nil) != c.ok {
				t.Fatalf("%v", err)
			}
			if err != nil &&
				(protocol.CodeOf(err) != protocol.CodeInvalid || c.secret != "" && strings.Contains(err.Error(), c.secret)) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTheOfficialLibraryVerifiesWhatWeSign(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret, old := signature.Generate(), signature.Generate()
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		id := rapid.StringMatching(`[A-Za-z0-9_-]{1,128}`).Draw(t, "id")
		header := http.Header{}
		must(t, signature.Sign(header, id, time.Now(), body, parse(t, secret), parse(t, old)))
		for _, s := range []seal.Secret{secret, old} {
			official, err := webhooks.NewWebhook(s.Reveal())
			must(t, err)
			must(t, official.Verify(body, header))
			must(t, signature.Verify(header, body, time.Now(), parse(t, s)))
		}
		otherKey := parse(t, signature.Generate())
		if err := signature.Verify(header, body, time.Now(),
			otherKey); protocol.CodeOf(err) != protocol.CodeSignatureInvalid {
			t.Errorf("a stranger's key: %v", err)
		}
	})
}

// A receiver that signs with a text as it stands, without knowing Standard Webhooks' form of secrets.
func TestATextIsTheKeyByItsBytes(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"0123456789abcdef", "mon secret très long 🔑", base64.StdEncoding.EncodeToString(make([]byte, 32)),
	} {
		key, err := signature.Parse(seal.NewSecret(secret))
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		if err := signature.Sign(header, "msg_1", time.Unix(1_800_000_000, 0), []byte(`{"a":1}`), key); err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = mac.Write([]byte(`msg_1.1800000000.{"a":1}`))
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		if got := header.Get(signature.HeaderSignature); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Any changed bit of body, id, timestamp or signature is rejected.
func TestAnyChangedBitIsRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := parse(t, signature.Generate())
		body := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "body")
		now := time.Unix(1_800_000_000, 0)
		header := http.Header{}
		must(t, signature.Sign(header, "msg_1", now, body, key))
		must(t, signature.Verify(header, body, now, key))
		part := rapid.SampledFrom([]string{
			"body", signature.HeaderID, signature.HeaderTimestamp, signature.HeaderSignature,
		}).Draw(t, "part")
		changed := bytes.Clone(body)
		if part == "body" {
			flip(t, changed)
		} else {
			value := []byte(header.Get(part))
			flip(t, value)
			header.Set(part, string(value))
		}
		if signature.Verify(header, changed, now, key) == nil {
			t.Errorf("%s changed and accepted: %v %q", part, header, changed)
		}
	})
}

func flip(t *rapid.T, b []byte) {
	b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	key, err := signature.Parse(signature.Generate())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name   string
		change func(http.Header)
		ok     bool
	}{
		{"nothing changed", func(http.Header) {}, true},
		{"no id", func(h http.Header) { h.Del("webhook-id") }, false},
		{"no timestamp", func(h http.Header) { h.Del("webhook-timestamp") }, false},
		{"no signature", func(h http.Header) { h.Del("webhook-signature") }, false},
		{"a timestamp that is no number", func(h http.Header) { h.Set("webhook-timestamp", "now") }, false},
		{
			"only another version", func(h http.Header) { h.Set("webhook-signature", "v2"+h.Get("webhook-signature")[2:]) },
			false,
		},
		{
			"an unknown signature in addition to a valid one",
			func(h http.Header) { h.Set("webhook-signature", "v1a,xx "+h.Get("webhook-signature")) }, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			header := http.Header{}
			if err := signature.Sign(header, "msg_1", now, []byte(`{}`), key); err != nil {
				t.Fatal(err)
			}
			c.change(header)
			if err := signature.Verify(header, []byte(`{}`), now, key); (err == nil) != c.ok {
				t.Error(err)
			}
		})
	}
}

func TestTimestampsAreValidForFiveMinutes(t *testing.T) {
	t.Parallel()
	key, err := signature.Parse(signature.Generate())
	if err != nil {
		t.Fatal(err)
	}
	signed := time.Unix(1_800_000_000, 0)
	header := http.Header{}
	if err := signature.Sign(header, "msg_1", signed, nil, key); err != nil {
		t.Fatal(err)
	}
	for age, ok := range map[time.Duration]bool{
		0: true, 5 * time.Minute: true, -5 * time.Minute: true,
		5*time.Minute + time.Second: false, -5*time.Minute - time.Second: false,
	} {
		if err := signature.Verify(header, nil, signed.Add(age), key); (err == nil) != ok {
			t.Errorf("%s: %v", age, err)
		}
	}
}

func TestSignNeedsAnIDAndAKey(t *testing.T) {
	t.Parallel()
	key, err := signature.Parse(signature.Generate())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "a.b", "a b", "ä", "a\nb", strings.Repeat("x", 129)} {
		if signature.Sign(http.Header{}, id, time.Now(), nil, key) == nil {
			t.Errorf("%q accepted", id)
		}
	}
	if signature.Sign(http.Header{}, "a", time.Now(), nil) == nil {
		t.Error("signed without a key")
	}
}

func TestASecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprintf("%v %+v", signature.Generate(), signature.Generate()); got != "[redacted] [redacted]" {
		t.Error(got)
	}
}

func parse(t *rapid.T, s seal.Secret) signature.Key {
	key, err := signature.Parse(s)
	must(t, err)
	return key
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// Both ends derive the key: a change of the derivation would refuse all hosts of the version before.
func TestTheKeyOfASessionIsFixed(t *testing.T) {
	t.Parallel()
	sign := func(password, session string) string {
		key, err := signature.OfSession(seal.NewSecret(password), session)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		if err := signature.Sign(header, "evt_1_1_1", time.Unix(1_800_000_000, 0), []byte("{}"), key); err != nil {
			t.Fatal(err)
		}
		return header.Get(signature.HeaderSignature)
	}
	const fixed = "v1,bBELUuLh4xMglTIMpRgb27x+2slI3ayGqTYzpR3pQso="
	if got := sign("password", "session"); got != fixed {
		t.Errorf("%s, want %s", got, fixed)
	}
	if sign("password", "session2") == fixed || sign("password2", "session") == fixed {
		t.Error("another session or password has the same key")
	}
	for _, c := range [][2]string{{"", "session"}, {"password", ""}} {
		if _, err := signature.OfSession(seal.NewSecret(c[0]), c[1]); err == nil {
			t.Errorf("a key of %q", c)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	key, err := signature.OfSession(seal.NewSecret("password"), "session")
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{200, 64 << 10} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			body, header, now := bytes.Repeat([]byte("x"), size), http.Header{}, time.Unix(1_800_000_000, 0)
			if err := signature.Sign(header, "evt_1_1_1", now, body, key); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := signature.Verify(header, body, now, key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
