package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"go.uber.org/goleak"

	"bellhop/crypto/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func generate(t testing.TB) string {
	t.Helper()
	ks, err := seal.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return ks
}

func parse(t testing.TB, ks string) *seal.Sealer {
	t.Helper()
	s, err := seal.Parse(ks)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sealed(t testing.TB, s *seal.Sealer, plain string) []byte {
	t.Helper()
	b, err := s.Seal("hosts", "password", "h1", []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOnlyTheSamePlaceOpens(t *testing.T) {
	t.Parallel()
	s := parse(t, generate(t))
	for _, plain := range []string{"", "secret", strings.Repeat("long", 1<<18)} {
		c := sealed(t, s, plain)
		if plain != "" && bytes.Contains(c, []byte(plain)) {
			t.Error("the ciphertext holds the plaintext")
		}
		if bytes.Equal(c, sealed(t, s, plain)) {
			t.Error("the same ciphertext twice")
		}
		got, err := s.Open("hosts", "password", "h1", c)
		if err != nil || string(got) != plain {
			t.Errorf("opened %d bytes, %v", len(got), err)
		}
		for name, at := range map[string][3]string{
			"another row":    {"hosts", "password", "h2"},
			"another column": {"hosts", "token", "h1"},
			"another table":  {"tasks", "password", "h1"},
			"a shifted bar":  {"hosts", "password", "h1|"},
		} {
			got, err := s.Open(at[0], at[1], at[2], c)
			if !errors.Is(err, seal.ErrCiphertext) || got != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
}

func TestPlacesAreUnambiguous(t *testing.T) {
	t.Parallel()
	s := parse(t, generate(t))
	for _, at := range [][3]string{{"", "b", "c"}, {"a", "", "c"}, {"a", "b", ""}, {"a|b", "c", "d"}, {"a", "b|c", "d"}} {
		if _, err := s.Seal(at[0], at[1], at[2], nil); err == nil {
			t.Errorf("sealed at %q", at)
		}
		if _, err := s.Open(at[0], at[1], at[2], nil); err == nil {
			t.Errorf("opened at %q", at)
		}
	}
}

func TestDamagedValuesReturnErrCiphertext(t *testing.T) {
	t.Parallel()
	s := parse(t, generate(t))
	good := sealed(t, s, "secret")
	refused := func(name string, c []byte) {
		t.Helper()
		if got, err := s.Open("hosts", "password", "h1", c); !errors.Is(err, seal.ErrCiphertext) || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for i := range len(good) * 8 {
		c := bytes.Clone(good)
		c[i/8] ^= 1 << (i % 8)
		refused(fmt.Sprintf("bit %d flipped", i), c)
	}
	for n := range good {
		refused(fmt.Sprintf("cut to %d", n), good[:n])
	}
	for n := range 41 {
		refused(fmt.Sprintf("%d zeros", n), make([]byte, n))
		if n <= 5 {
			continue
		}
		c := bytes.Repeat([]byte{0xff}, n)
		copy(c, good[:5]) // the key id of the right key
		refused(fmt.Sprintf("the key's prefix and %d bytes", n-5), c)
	}
	refused("nil", nil)
	refused("a byte too many", append(bytes.Clone(good), 0))
	refused("the plaintext", []byte("secret"))
	refused("of another keyset", sealed(t, parse(t, generate(t)), "secret"))
}

// At each step some replicas have the keyset of the step before. What any of them seals, all open.
func TestEveryStepOfARotationCanRead(t *testing.T) {
	t.Parallel()
	step := func(change func(string) (string, error), ks string) string {
		next, err := change(ks)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	first := generate(t)
	added := step(seal.Add, first)
	promoted := step(seal.Promote, added)
	pruned := step(seal.Prune, promoted)
	before, during, after, last := parse(t, first), parse(t, added), parse(t, promoted), parse(t, pruned)
	for _, c := range []struct {
		name     string
		by, for_ *seal.Sealer
		opens    bool
		primary  bool // for_ need not seal it again
	}{
		{"with the added key, values of the first open", before, during, true, true},
		{"with the added key, the first key still seals", during, before, true, true},
		{"after the promotion, values of the step before open", during, after, true, false},
		{"after the promotion, the step before opens new values", after, during, true, false},
		{"after the promotion, the first keyset opens no new values", after, before, false, false},
		{"without the first key, values of the new one open", after, last, true, true},
		{"without the first key, its values do not open", before, last, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			value := sealed(t, c.by, "secret")
			got, err := c.for_.Open("hosts", "password", "h1", value)
			if c.opens && (err != nil || string(got) != "secret") {
				t.Errorf("%q, %v", got, err)
			}
			if !c.opens && !errors.Is(err, seal.ErrCiphertext) {
				t.Errorf("%q, %v", got, err)
			}
			if c.for_.Primary(value) != c.primary {
				t.Errorf("sealed by the primary key: %v", !c.primary)
			}
		})
	}
	for range 8 {
		added = step(seal.Add, added)
	}
	if _, err := seal.Add(added); !errors.Is(err, seal.ErrKeyset) {
		t.Errorf("an eleventh key: %v", err)
	}
}

// foreign is a valid Tink keyset with parameters that Bellhop does not use.
func foreign(t *testing.T, template *tinkpb.KeyTemplate) string {
	t.Helper()
	h, err := keyset.NewHandle(template)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := insecurecleartextkeyset.Write(h, keyset.NewBinaryWriter(&buf)); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(buf.Bytes())
}

func TestABadKeysetIsRefusedInOneLineWithoutQuotingIt(t *testing.T) {
	t.Parallel()
	good := generate(t)
	for name, ks := range map[string]string{
		"empty":             "",
		"white space":       " \n",
		"a password":        "correct horse battery staple",
		"cut":               good[:len(good)/2],
		"cut by four":       good[:len(good)-4],
		"32 random bytes":   base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)),
		"two lines":         good + "\n" + good,
		"AES-128":           foreign(t, aead.AES128GCMKeyTemplate()),
		"another algorithm": foreign(t, aead.XChaCha20Poly1305KeyTemplate()),
		"without key ids":   foreign(t, aead.AES256GCMNoPrefixKeyTemplate()),
	} {
		for what, f := range map[string]func(string) error{
			"Parse":   func(s string) error { _, err := seal.Parse(s); return err },
			"Add":     func(s string) error { _, err := seal.Add(s); return err },
			"Promote": func(s string) error { _, err := seal.Promote(s); return err },
			"Prune":   func(s string) error { _, err := seal.Prune(s); return err },
		} {
			err := f(ks)
			if !errors.Is(err, seal.ErrKeyset) {
				t.Errorf("%s %s: %v", what, name, err)
				continue
			}
			if strings.Contains(err.Error(), "\n") || (len(ks) > 8 && strings.Contains(err.Error(), ks[:8])) {
				t.Errorf("%s %s says %q", what, name, err)
			}
		}
	}
}

func TestAKeysetIsOneLineAndMayBeReadFromAFile(t *testing.T) {
	t.Parallel()
	ks := generate(t)
	if strings.ContainsAny(ks, " \n\"'$") || ks == generate(t) {
		t.Errorf("generated %d characters", len(ks))
	}
	s := parse(t, "\t"+ks+"\r\n")
	if _, err := s.Open("hosts", "password", "h1", sealed(t, parse(t, ks), "x")); err != nil {
		t.Error(err)
	}
}

func TestASecretIsRevealedOnlyByReveal(t *testing.T) {
	t.Parallel()
	const canary = "canary-7"
	type config struct {
		Open   seal.Secret
		hidden seal.Secret
		ptr    *seal.Secret
	}
	secret := seal.NewSecret(canary)
	c := config{Open: secret, hidden: secret, ptr: &secret}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%20s", "%T"} {
		fmt.Fprintf(&out, verb+"\n", secret)
		fmt.Fprintf(&out, verb+"\n", &secret)
		fmt.Fprintf(&out, verb+"\n", c)
		fmt.Fprintf(&out, verb+"\n", []seal.Secret{secret})
		fmt.Fprintf(&out, verb+"\n", map[string]any{"a": secret, "b": &c})
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Error("x", "secret", secret, "ptr", &secret, "config", c, "group", slog.GroupValue(slog.Any("s", secret)))
	}
	asJSON, err := json.Marshal(map[string]any{"a": secret, "b": &secret, "c": c})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(asJSON)
	fmt.Fprint(&out, errors.Join(fmt.Errorf("wrapped: %v", secret)))
	// %x would print the value in hexadecimal.
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary)} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%s was shown in\n%s", form, out.String())
		}
	}
	if want := `{"a":"[redacted]","b":"[redacted]","c":{"Open":"[redacted]"}}`; string(asJSON) != want {
		t.Errorf("JSON %s", asJSON)
	}
	if secret.Reveal() != canary || secret.IsZero() {
		t.Error("Reveal does not")
	}
	var zero, read seal.Secret
	if !zero.IsZero() || zero.Reveal() != "" || fmt.Sprint(zero) != "[redacted]" {
		t.Error("the zero value is not empty")
	}
	if err := json.Unmarshal([]byte(`"given"`), &read); err != nil || read.Reveal() != "given" {
		t.Errorf("read %q, %v", read.Reveal(), err)
	}
}

// Ciphertexts come from a database that may be damaged, keysets from an operator: any bytes are
// possible.
func FuzzOpen(f *testing.F) {
	// The keyset is fixed, so that the corpus stays meaningful. It protects nothing.
	const ks = fixedKeyset
	s := parse(f, ks)
	f.Add(sealed(f, s, "secret"))
	f.Add([]byte{})
	f.Add([]byte("\x01\x00\x00\x00\x00 short"))
	f.Fuzz(func(t *testing.T, c []byte) {
		plain, err := s.Open("hosts", "password", "h1", c)
		if err != nil && (!errors.Is(err, seal.ErrCiphertext) || plain != nil) {
			t.Errorf("%q, %v", plain, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(fixedKeyset)
	f.Add("")
	f.Add(fixedKeyset[:40])
	f.Fuzz(func(t *testing.T, ks string) {
		if _, err := seal.Parse(ks); err != nil && !errors.Is(err, seal.ErrKeyset) {
			t.Errorf("unknown error %v", err)
		}
	})
}

const fixedKeyset = "CMvH2vYOEmQKWAowdHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUuY3J5cHRvLnRpbmsuQWVzR2NtS2V5EiIaIMMGznSzo-" +
	"4pWtawxawm2RxkLWHzINAaBEni80_zdeD8GAEQARjLx9r2DiAB"
