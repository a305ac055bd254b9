package masking_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"bellhop/internal/masking"
)

// canary is in every secret of the tests.
const canary = "Zx9CanaryQ7"

func TestFormsOfSecretsAreMaskedInTexts(t *testing.T) {
	t.Parallel()
	long := canary + "abcdefghij0123456789ABCDEFGHIJ"
	for name, c := range map[string]struct{ text, want string }{
		"a key of a model":      {"use sk-ant-api03-" + long + " here", "use [redacted] here"},
		"a token of a forge":    {"ghp_" + long, "[redacted]"},
		"a fine-grained token":  {"x github_pat_" + long + ".", "x [redacted]."},
		"a token of GitLab":     {"glpat-" + long, "[redacted]"},
		"a key of a cloud":      {"AKIA" + strings.ToUpper("ABCDEFGH12345678"), "[redacted]"},
		"a token of Bellhop":    {"bhp_" + long, "[redacted]"},
		"a secret of a webhook": {"whsec_" + long, "[redacted]"},
		"a JWT":                 {"eyJhbGciOiJIUzI1NiJ9.eyJ0YXNrIjoi" + canary + "In0." + long, "[redacted]"},
		"a private key": {
			"a\n-----BEGIN RSA PRIVATE KEY-----\n" + canary + "\n-----END RSA PRIVATE KEY-----\nb",
			"a\n[redacted]\nb",
		},
		"a key that is cut off": {"a -----BEGIN PRIVATE KEY-----\n" + canary, "a [redacted]"},
		"a header": {
			"> Authorization: Bearer " + canary + " more\n> Accept: */*",
			"> Authorization: [redacted]\n> Accept: */*",
		},
		"a header in JSON": {
			`{"Authorization": "Basic ` + canary + `", "a": 1}`,
			`{"Authorization": "[redacted]", "a": 1}`,
		},
		"a header in JSON twice": {
			`{\"authorization\":\"token ` + canary + `\"}`,
			`{\"authorization\":\"[redacted]\"}`,
		},
		"a header of curl": {
			`curl -H 'authorization: ` + canary + `' http://a`,
			`curl -H 'authorization: [redacted]' http://a`,
		},
		"a cookie":              {"Set-Cookie: session=" + canary + "; Path=/", "Set-Cookie: [redacted]"},
		"a header of a vendor":  {"x-goog-api-key: " + canary, "x-goog-api-key: [redacted]"},
		"a bearer in prose":     {"sent Bearer " + long, "sent Bearer [redacted]"},
		"an address":            {"https://ada:" + canary + "@git.example/x", "https://[redacted]@git.example/x"},
		"a token in an address": {"https://" + canary + "@git.example/x", "https://[redacted]@git.example/x"},
		"a parameter": {
			"GET /x?a=1&access_token=" + canary + "&b=2",
			"GET /x?a=1&access_token=[redacted]&b=2",
		},
		"a signed address": {
			"https://s3.example/x?X-Amz-Signature=" + canary,
			"https://s3.example/x?X-Amz-Signature=[redacted]",
		},
		"a variable":           {"export DB_PASSWORD=" + canary + " PORT=1", "export DB_PASSWORD=[redacted] PORT=1"},
		"a variable in quotes": {`STRIPE_API_KEY="` + canary + ` two"`, `STRIPE_API_KEY=[redacted]`},
		"a setting": {
			"db:\n  password: " + canary + "\n  port: 5",
			"db:\n  password: [redacted]\n  port: 5",
		},
		"a setting with quotes": {`clientSecret: '` + canary + `',`, `clientSecret: '[redacted]',`},
		"a member in a text":    {`{"api_key":"` + canary + `"}`, `{"api_key":"[redacted]"}`},
		"an option":             {"tool --api-key " + canary + " --fast", "tool --api-key [redacted] --fast"},
		"an option with a sign": {"tool --password=" + canary, "tool --password=[redacted]"},
		"a hook of a chat":      {"https://hooks.slack.com/services/T0/B0/" + canary, "[redacted]"},
		"what is no secret": {
			"const token = next(); // token: string, max_tokens=5, non-secret data",
			"const token = next(); // token: string, max_tokens=5, non-secret data",
		},
		"an address without user": {"see https://example.org/a@b?q=1#x", "see https://example.org/a@b?q=1#x"},
	} {
		t.Run(name, func(t *testing.T) {
			var strict masking.Strict
			got := strict.Text(c.text)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if again := strict.Text(got); again != got {
				t.Errorf("masked again: %q", again)
			}
		})
	}
}

func TestKnownValuesAreMaskedAsTheyAreAndInAddresses(t *testing.T) {
	t.Parallel()
	strict := masking.NewStrict([]string{"pass word/" + canary, "http://10.0.0.7:7701", "short"})
	got := strict.Text("pass word/" + canary + " pass+word%2F" + canary + " http://10.0.0.7:7701/x short")
	if want := "[redacted] [redacted] [redacted]/x short"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestSecretMembersAreMaskedInValues(t *testing.T) {
	t.Parallel()
	strict := masking.NewStrict([]string{"known-" + canary})
	for name, c := range map[string]struct{ value, want string }{
		"by name": {
			`{"user":"ada","dbPassword":"` + canary + `","n":1,"max_tokens":5,"tokens":"two"}`,
			`{"user":"ada","dbPassword":"[redacted]","n":1,"max_tokens":5,"tokens":"two"}`,
		},
		"below the name": {
			`{"credentials":{"user":["` + canary + `",2]},"a":"b"}`,
			`{"credentials":{"user":["[redacted]",2]},"a":"b"}`,
		},
		"behind the name": {
			`{"secret":["` + canary + `"],"list":[{"x":"y"}]}`,
			`{"secret":["[redacted]"],"list":[{"x":"y"}]}`,
		},
		"by form": {
			`{"command":"curl -H 'Authorization: ` + canary + `'"}`,
			`{"command":"curl -H 'Authorization: [redacted]'"}`,
		},
		"behind an escape":   {`"known\u002d` + canary + `"`, `"[redacted]"`},
		"a name":             {`{"known-` + canary + `":1}`, `{"[redacted]":1}`},
		"names become equal": {`{"known-` + canary + `":1,"[redacted]":"` + canary + `"}`, `"[redacted]"`},
		"absent":             {``, `null`},
		"an empty one":       {`{"password":""}`, `{"password":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(strict.Value(json.RawMessage(c.value), "null")); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// For any input there is no panic, and the results are valid and without the known value.
func FuzzStrict(f *testing.F) {
	const known = "known-" + canary
	for _, seed := range []string{
		"", known, `{"password":"a","b":["` + known + `"]}`, "Authorization: Bearer abc\nx", "\xff-----BEGIN PRIVATE KEY-----",
		`{"a":{"secret":[{"b":"c"}]}}`, "A_TOKEN=" + known, "http://a:b@c?token=d",
	} {
		f.Add(seed)
	}
	strict := masking.NewStrict([]string{known})
	f.Fuzz(func(t *testing.T, text string) {
		masked := strict.Text(text)
		if !utf8.ValidString(masked) || strings.Contains(masked, known) {
			t.Errorf("masked: %q", masked)
		}
		value := strict.Value(json.RawMessage(text), "null")
		if !json.Valid(value) || strings.Contains(string(value), known) {
			t.Errorf("masked: %s", value)
		}
	})
}
