package token_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/crypto/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	secret = []byte("0123456789abcdef0123456789abcdef")
	now    = time.Date(2026, 5, 6, 7, 8, 9, 500e6, time.UTC)
	iat    = now.Unix()
)

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// forge signs any header and payload with the right secret.
func forge(header, payload string) string { return forgeWith(sha256.New, secret, header, payload) }

func forgeWith(h func() hash.Hash, key []byte, header, payload string) string {
	signed := b64(header) + "." + b64(payload)
	mac := hmac.New(h, key)
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

const header = `{"alg":"HS256","typ":"JWT"}`

// claims returns valid claims, some replaced by raw JSON or removed by "".
func claims(replace ...string) string {
	members := [][2]string{
		{"taskId", `"task-1"`},
		{"turnId", `"turn-1"`},
		{"jti", `"j"`},
		{"aud", `"agent-webhook"`},
		{"iat", fmt.Sprint(iat)},
		{"exp", fmt.Sprint(iat + 600)},
	}
	for i := 0; i < len(replace); i += 2 {
		known := false
		for j := range members {
			if members[j][0] == replace[i] {
				members[j][1], known = replace[i+1], true
			}
		}
		if !known {
			members = append(members, [2]string{replace[i], replace[i+1]})
		}
	}
	var parts []string
	for _, m := range members {
		if m[1] != "" {
			parts = append(parts, `"`+m[0]+`":`+m[1])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestASignedTokenVerifiesForTenMinutes(t *testing.T) {
	t.Parallel()
	signed, expires, err := token.SignWebhook(secret, "task-1", "turn-1", now)
	if err != nil {
		t.Fatal(err)
	}
	issued := now.Truncate(time.Second)
	if expires != issued.Add(10*time.Minute) {
		t.Errorf("expires %v", expires)
	}
	if id, err := token.Inspect(signed); id != "task-1" || err != nil {
		t.Errorf("Inspect: %q, %v", id, err)
	}
	c, err := token.Verify(signed, secret, now)
	if err != nil || c.ID == "" {
		t.Fatalf("%+v, %v", c, err)
	}
	c.ID = ""
	if want := (token.Claims{TaskID: "task-1", TurnID: "turn-1", IssuedAt: issued, ExpiresAt: expires}); c != want {
		t.Errorf("claims %+v, want %+v", c, want)
	}
	if again, _, _ := token.SignWebhook(secret, "task-1", "turn-1", now); again == signed {
		t.Error("two tokens share a jti")
	}
}

func TestATokenHasTheFormatOfTheProtocol(t *testing.T) {
	t.Parallel()
	signed, _, err := token.SignWebhook(secret, "task-1", "turn-1", now)
	if err != nil {
		t.Fatal(err)
	}
	segments := strings.Split(signed, ".")
	var got [2]map[string]any
	for i := range got {
		raw, err := base64.RawURLEncoding.DecodeString(segments[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	delete(got[1], "jti")
	shown, _ := json.Marshal(got)
	want := fmt.Sprintf(`[{"alg":"HS256","typ":"JWT"},{"aud":"agent-webhook","exp":%d,"iat":%d,"taskId":"task-1","turnId":"turn-1"}]`, iat+600, iat)
	if string(shown) != want {
		t.Errorf("got  %s\nwant %s", shown, want)
	}
}

func TestTokensAreValidExpiredOrInvalidByTime(t *testing.T) {
	t.Parallel()
	signed, expires, err := token.SignWebhook(secret, "task-1", "turn-1", now)
	if err != nil {
		t.Fatal(err)
	}
	issued := expires.Add(-token.Lifetime)
	for _, c := range []struct {
		name   string
		now    time.Time
		verify error
		anyAge error
	}{
		{"60 s before iat is another replica's clock", issued.Add(-60 * time.Second), nil, nil},
		{"more than that is a clock that went back", issued.Add(-61 * time.Second), token.ErrExpired, nil},
		{"at iat", issued, nil, nil},
		{"the last moment", expires.Add(-1), nil, nil},
		{"at exp", expires, token.ErrExpired, nil},
		{"a year later renewal still finds it", expires.AddDate(1, 0, 0), token.ErrExpired, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := token.Verify(signed, secret, c.now); !errors.Is(err, c.verify) {
				t.Errorf("Verify: %v, want %v", err, c.verify)
			}
			if _, err := token.VerifyAnyAge(signed, secret); !errors.Is(err, c.anyAge) {
				t.Errorf("VerifyAnyAge: %v, want %v", err, c.anyAge)
			}
		})
	}
}

// Each case is rejected although the right secret signed it. inspect is the error of Inspect,
// if the shape alone is wrong.
func TestEveryKnownForgeryIsRefused(t *testing.T) {
	t.Parallel()
	valid := forge(header, claims())
	if _, err := token.Verify(valid, secret, now); err != nil {
		t.Fatalf("the base of all cases: %v", err)
	}
	p := strings.Split(valid, ".")
	flattened := fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q,"taskId":"other","exp":9999999999}`, p[1],
		p[0], p[2])
	general := fmt.Sprintf(`{"payload":%q,"signatures":[{"protected":%q,"signature":%q}],"taskId":"other"}`, p[1],
		p[0], p[2])
	format, payload, invalid := token.ErrFormat, token.ErrPayload, token.ErrInvalid
	for _, c := range []struct {
		name, token string
		inspect     error
	}{
		{"empty", "", format},
		{"no JWT at all", "not-a-token", format},
		{"JSON serialisation, flattened", flattened, format},
		{"JSON serialisation, general", general, format},
		{"JSON serialisation in a segment", b64(flattened) + ".e30.", payload},
		{"encrypted: five segments", "a.b.c.d.e", format},
		{"2049 characters", forge(header, claims("turnId", `"`+strings.Repeat("x", 2049)+`"`)), format},
		{"10 MiB", strings.Repeat("a", 10<<20), format},
		{"padding", p[0] + "=." + p[1] + "." + p[2], format},
		{"leading white space", " " + valid, format},
		{"trailing newline", valid + "\n", format},
		{"newline inside, which base64 decoders skip", p[0] + "." + p[1][:4] + "\n" + p[1][4:] + "." + p[2], format},
		{"the standard alphabet", strings.Replace(valid, p[2], "+/"+p[2][2:], 1), format},
		{"changed padding bits of the signature", valid[:len(valid)-1] + flipLastBit(valid), format},
		{"header is no JSON", b64("HS256") + "." + p[1] + "." + p[2], format},
		{"header is an array", forge(`["HS256"]`, claims()), format},
		{"header is null", forge(`null`, claims()), format},
		{"payload is no JSON", forge(header, "hello"), payload},
		{"payload is null", forge(header, "null"), payload},
		{"payload is an array", forge(header, "[]"), payload},
		{"payload has trailing text", forge(header, claims()+"x"), payload},
		{"payload is invalid UTF-8", forge(header, claims("x", "\"\xff\"")), payload},
		{"no taskId", forge(header, claims("taskId", "")), payload},
		{"empty taskId", forge(header, claims("taskId", `""`)), payload},
		{"numeric taskId", forge(header, claims("taskId", "7")), payload},
		{"null taskId", forge(header, claims("taskId", "null")), payload},
		{"endless taskId", forge(header, claims("taskId", `"`+strings.Repeat("x", 129)+`"`)), payload},
		{"taskId in other case", forge(header, claims("taskId", "", "TaskID", `"task-1"`)), payload},

		{"alg none, no signature", b64(`{"alg":"none"}`) + "." + p[1] + ".", invalid},
		{"alg none, signed", forge(`{"alg":"none"}`, claims()), invalid},
		{"alg nOnE", forge(`{"alg":"nOnE"}`, claims()), invalid},
		{"no alg", forge(`{"typ":"JWT"}`, claims()), invalid},
		{"alg null", forge(`{"alg":null}`, claims()), invalid},
		{"alg hs256", forge(`{"alg":"hs256"}`, claims()), invalid},
		{"alg ALG", forge(`{"ALG":"HS256"}`, claims()), invalid},
		{"HS512 in the header, HS256 MAC", forge(`{"alg":"HS512"}`, claims()), invalid},
		{"RS256 in the header, HS256 MAC", forge(`{"alg":"RS256"}`, claims()), invalid},
		{"HS512 all the way", forgeWith(sha512.New, secret, `{"alg":"HS512"}`, claims()), invalid},
		{"HS256 in the header, HS512 MAC", forgeWith(sha512.New, secret, header, claims()), nil},
		{"crit", forge(`{"alg":"HS256","crit":["x"],"x":1}`, claims()), invalid},
		{"b64", forge(`{"alg":"HS256","b64":false}`, claims()), invalid},
		{"jwk", forge(`{"alg":"HS256","jwk":{"kty":"oct","k":"AA"}}`, claims()), invalid},
		{"jku", forge(`{"alg":"HS256","jku":"http://127.0.0.1:1/"}`, claims()), invalid},
		{"x5u", forge(`{"alg":"HS256","x5u":"http://127.0.0.1:1/"}`, claims()), invalid},
		{"x5c", forge(`{"alg":"HS256","x5c":["AA"]}`, claims()), invalid},
		{"duplicate alg", forge(`{"alg":"none","alg":"HS256"}`, claims()), invalid},
		{"duplicate taskId", forge(header, `{"taskId":"other",`+claims()[1:]), invalid},
		{"duplicate exp", forge(header, `{"exp":9999999999,`+claims()[1:]), invalid},
		{"duplicate taskId by escape", forge(header, `{"task\u0049d":"other",`+claims()[1:]), invalid},

		{"another task's secret", forgeWith(sha256.New, []byte(strings.Repeat("z", 32)), header, claims()), nil},
		{"a one-byte key", forgeWith(sha256.New, []byte("0"), header, claims()), nil},
		{"no signature", p[0] + "." + p[1] + ".", nil},
		{"half a signature", p[0] + "." + p[1] + "." + p[2][:20], nil},
		{"other claims under the same signature", p[0] + "." + b64(claims("turnId", `"turn-2"`)) + "." + p[2], nil},
		{"no exp", forge(header, claims("exp", "")), nil},
		{"no iat", forge(header, claims("iat", "")), nil},
		{"exp in 100 years", forge(header, claims("exp", fmt.Sprint(iat+100*365*86400))), nil},
		{"exp 601 s after iat", forge(header, claims("exp", fmt.Sprint(iat+601))), nil},
		{"exp equals iat", forge(header, claims("exp", fmt.Sprint(iat))), nil},
		{"exp before iat", forge(header, claims("exp", fmt.Sprint(iat-1))), nil},
		{"exp as a string", forge(header, claims("exp", fmt.Sprintf(`"%d"`, iat+600))), nil},
		{"exp null", forge(header, claims("exp", "null")), nil},
		{"exp −1", forge(header, claims("exp", "-1")), nil},
		{"exp 1e18", forge(header, claims("exp", "1e18")), nil},
		{"exp with an exponent", forge(header, claims("exp", "1.7e9")), nil},
		{"exp with a fraction", forge(header, claims("exp", fmt.Sprintf("%d.5", iat+500))), nil},
		{"exp beyond 64 bits", forge(header, claims("exp", "18446744073709551616")), nil},
		{"exp beyond the calendar", forge(header, claims("iat", "9223372036854775000", "exp", "9223372036854775600")), nil},
		{"iat as a string", forge(header, claims("iat", fmt.Sprintf(`"%d"`, iat))), nil},
		{"no aud", forge(header, claims("aud", "")), nil},
		{"another aud", forge(header, claims("aud", `"stream"`)), nil},
		{"two auds", forge(header, claims("aud", `["agent-webhook","stream"]`)), nil},
		{"numeric turnId", forge(header, claims("turnId", "1")), nil},
		{"null jti", forge(header, claims("jti", "null")), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := token.Inspect(c.token); !errors.Is(err, c.inspect) {
				t.Errorf("Inspect: %v, want %v", err, c.inspect)
			}
			want := c.inspect
			if want == nil {
				want = token.ErrInvalid
			}
			if _, err := token.Verify(c.token, secret, now); !errors.Is(err, want) {
				t.Errorf("Verify: %v, want %v", err, want)
			}
			if _, err := token.VerifyAnyAge(c.token, secret); !errors.Is(err, want) {
				t.Errorf("VerifyAnyAge: %v, want %v", err, want)
			}
		})
	}
}

// flipLastBit changes only padding bits: the 43 characters of a 32-byte signature hold two more
// bits than it has.
func flipLastBit(signed string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, signed[len(signed)-1])
	return string(alphabet[last^1])
}

func TestEquivalentFormsOfATokenAreAccepted(t *testing.T) {
	t.Parallel()
	for name, signed := range map[string]string{
		"aud as a list of one":     forge(header, claims("aud", `["agent-webhook"]`)),
		"no turn and no id":        forge(header, claims("turnId", "", "jti", "")),
		"further claims":           forge(header, claims("iss", `"x"`, "deep", `{"a":[1]}`)),
		"a shorter life":           forge(header, claims("exp", fmt.Sprint(iat+1))),
		"a key id, which we skip":  forge(`{"alg":"HS256","kid":"1"}`, claims()),
		"members in another order": forge(`{"typ":"JWT","alg":"HS256"}`, claims()),
	} {
		if _, err := token.Verify(signed, secret, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrExpiredMeansThatNothingElseIsWrong(t *testing.T) {
	t.Parallel()
	later := now.Add(time.Hour)
	for _, c := range []struct {
		name, token string
		want        error
	}{
		{"all right", forge(header, claims()), token.ErrExpired},
		{"wrong signature", forgeWith(sha256.New, []byte(strings.Repeat("z", 32)), header, claims()), token.ErrInvalid},
		{"wrong aud", forge(header, claims("aud", `"x"`)), token.ErrInvalid},
		{"too long a life", forge(header, claims("exp", fmt.Sprint(iat+601))), token.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := token.Verify(c.token, secret, later)
			if !errors.Is(err, c.want) || (errors.Is(c.want, token.ErrInvalid) && errors.Is(err, token.ErrExpired)) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestAShortSecretNeitherSignsNorVerifies(t *testing.T) {
	t.Parallel()
	for _, short := range [][]byte{nil, {0}, secret[:31]} {
		if _, _, err := token.SignWebhook(short, "task-1", "turn-1", now); !errors.Is(err, token.ErrSecret) {
			t.Errorf("%d bytes sign: %v", len(short), err)
		}
		forged := forgeWith(sha256.New, short, header, claims())
		if _, err := token.Verify(forged, short, now); !errors.Is(err, token.ErrSecret) {
			t.Errorf("%d bytes verify: %v", len(short), err)
		}
	}
}

func TestSignRefusesIdsThatVerifyWouldReject(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string][2]string{
		"no task":                  {"", "turn"},
		"a task id too long":       {strings.Repeat("x", 129), "turn"},
		"a turn id too long":       {"task", strings.Repeat("x", 129)},
		"ids too long once quoted": {strings.Repeat("\x01", 128), strings.Repeat("\x01", 128)},
	} {
		if signed, _, err := token.SignWebhook(secret, ids[0], ids[1], now); err == nil {
			t.Errorf("%s: signed %s", name, signed)
		}
	}
}

func TestErrorsDoNotQuoteTheToken(t *testing.T) {
	t.Parallel()
	const canary = "canary"
	for _, bad := range []string{
		canary, b64(canary) + ".e30.e30", forge(`{"alg":"`+canary+`"}`, claims()),
		forge(`{"alg":"HS256","x5`+canary+`":1}`, claims()), forge(header, claims("aud", `"`+canary+`"`)),
		forge(header, `{"`+canary+`":1,"`+canary+`":2}`), forge(header, canary),
	} {
		if _, err := token.Verify(bad, secret, now); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("got %v", err)
		}
	}
}

func TestOpaqueTokensAreRandomAndFoundByHash(t *testing.T) {
	t.Parallel()
	plain, hash := token.NewOpaque("bh_")
	other, _ := token.NewOpaque("bh_")
	if plain == other {
		t.Error("twice the same token")
	}
	random, found := strings.CutPrefix(plain, "bh_")
	raw, err := base64.RawURLEncoding.DecodeString(random)
	if !found || err != nil || len(raw) != 32 {
		t.Errorf("%d random bytes, %v", len(raw), err)
	}
	want := sha256.Sum256([]byte(plain))
	if string(hash) != string(want[:]) || string(token.Hash(plain)) != string(want[:]) {
		t.Error("the hash is not the SHA-256 of the whole token")
	}
	if a, b := token.NewSecretHex(), token.NewSecretHex(); a == b || len(a) != 64 || len(a) < token.MinSecret {
		t.Errorf("secret of %d characters", len(a))
	}
}

func BenchmarkVerify(b *testing.B) {
	signed, _, err := token.SignWebhook(secret, "task-1", "turn-1", now)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := token.Verify(signed, secret, now); err != nil {
			b.Fatal(err)
		}
	}
}
