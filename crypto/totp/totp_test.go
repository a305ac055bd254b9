package totp_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/crypto/seal"
	"bellhop/crypto/totp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rfcSecret is base32 of "12345678901234567890".
var rfcSecret = seal.NewSecret("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")

// The codes of RFC 6238, appendix B, without the first two of their eight digits.
func TestTheCodesAreThoseOfTheRFC(t *testing.T) {
	t.Parallel()
	for seconds, code := range map[int64]string{
		59: "287082", 1_111_111_109: "081804", 1_111_111_111: "050471",
		1_234_567_890: "005924", 2_000_000_000: "279037", 20_000_000_000: "353130",
	} {
		if got, err := totp.Code(rfcSecret, time.Unix(seconds, 0)); got != code || err != nil {
			t.Errorf("at %d: %s, %v", seconds, got, err)
		}
		step, found, err := totp.Find(rfcSecret, code, time.Unix(seconds, 0), 0)
		if step != seconds/30 || !found || err != nil {
			t.Errorf("at %d: step %d, %t, %v", seconds, step, found, err)
		}
	}
}

func TestACodeIsValidForThreeStepsAndOnce(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_234_567_890, 0) // the first second of a step
	const step = 1_234_567_890 / 30
	for _, c := range []struct {
		name  string
		now   time.Time
		after int64
		found bool
	}{
		{"now", at, 0, true},
		{"at the end of its step", at.Add(29 * time.Second), 0, true},
		{"a step later", at.Add(59 * time.Second), 0, true},
		{"two steps later", at.Add(60 * time.Second), 0, false},
		{"a step early", at.Add(-30 * time.Second), 0, true},
		{"two steps early", at.Add(-31 * time.Second), 0, false},
		{"after a code of the step before", at, step - 1, true},
		{"after the same code", at, step, false},
		{"after a later code", at, step + 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, found, err := totp.Find(rfcSecret, "005924", c.now, c.after)
			if found != c.found || err != nil || found && got != step {
				t.Errorf("step %d, %t, %v", got, found, err)
			}
		})
	}
	for _, wrong := range []string{"", "005925", "5924", "89005924", "00592４"} {
		if _, found, err := totp.Find(rfcSecret, wrong, at, 0); found || err != nil {
			t.Errorf("%q: %t, %v", wrong, found, err)
		}
	}
	if _, _, err := totp.Find(seal.NewSecret("not base32!"), "005924", at, 0); err == nil {
		t.Error("a damaged secret is no error")
	}
}

func TestTheFormOfACode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"005924": true, "": false, "12345": false, "1234567": false, "12345a": false, "００５": false,
	} {
		if totp.IsCode(text) != want {
			t.Errorf("%q", text)
		}
	}
}

func TestSecretsAreRandomAndFitIntoAnAddress(t *testing.T) {
	t.Parallel()
	secret := totp.Generate()
	if len(secret.Reveal()) != 32 || secret.Reveal() == totp.Generate().Reveal() {
		t.Errorf("%q", secret.Reveal())
	}
	const issuer, account = "Bellhop of A & B", "ada+x@example.com"
	u, err := url.Parse(totp.URI(secret, issuer, account))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/"+issuer+":"+account ||
		q.Get("secret") != secret.Reveal() || q.Get("issuer") != issuer || q.Get("algorithm") != "SHA1" ||
		q.Get("digits") != "6" || q.Get("period") != "30" || len(q) != 5 {
		t.Errorf("%s", u)
	}
	if strings.Contains(u.RawQuery, "+") {
		t.Errorf("apps show the + in %s", u.RawQuery)
	}
}
