package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/totp"
)

const (
	login     = `{"email":"ada@example.com","password":"` + password + `"`
	wrongCode = `{"error":"The code is wrong or was used already",`
	noString  = `{"error":"code must be a string","code":"invalid"}`
	noFactor  = `{"error":"This user has no second factor","code":"not_found"}`
	codeHint  = `"hint":"A code works once. The app shows another one every 30 seconds; the clocks must agree"}`
)

// code returns what ada's app shows.
func (s *site) code(secret string) string {
	s.t.Helper()
	code, err := totp.Code(seal.NewSecret(secret), s.clock.Now())
	must(s.t, err)
	return code
}

// enrol turns on ada's second factor through the routes, and waits until its first code is old.
func (s *site) enrol(session []string) (secret string, recovery []string) {
	s.t.Helper()
	begun := s.as(nil, "POST", "/api/auth/second-factor", `{"password":"`+password+`"}`, session...)
	const prefix = "otpauth://totp/Bellhop%20broker.example:ada%40example.com?"
	if begun.Code != 201 || !strings.HasPrefix(field(s.t, begun, "uri"), prefix) {
		s.t.Fatalf("%d %s", begun.Code, begun.Body)
	}
	secret = field(s.t, begun, "secret")
	confirmed := s.as(nil, "POST", "/api/auth/second-factor/confirm", `{"code":"`+s.code(secret)+`"}`, session...)
	var body struct{ RecoveryCodes []string }
	must(s.t, json.Unmarshal(confirmed.Body.Bytes(), &body))
	if confirmed.Code != 200 || len(body.RecoveryCodes) != 10 {
		s.t.Fatalf("%d %s", confirmed.Code, confirmed.Body)
	}
	s.clock.Advance(time.Minute)
	return secret, body.RecoveryCodes
}

func TestASecondFactorIsAskedForAfterThePassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := s.signedIn(s.ada)
	want(t, s.as(nil, "GET", "/api/auth/second-factor", "", session...), 200, `{"enabledAt":null,"recoveryCodes":0}`)
	secret, recovery := s.enrol(session)
	want(t, s.as(nil, "GET", "/api/auth/second-factor", "", session...), 200, `{"enabledAt":"+0s","recoveryCodes":10}`)

	want(t, s.as(nil, "POST", "/api/auth/login", `{"email":"ada@example.com","password":"guessed"}`), 401,
		`{"error":"Wrong email or password","code":"unauthorized"}`)
	want(t, s.as(nil, "POST", "/api/auth/login", login+`}`), 401,
		`{"error":"This account needs a code of its second factor","code":"second_factor",`+
			`"hint":"Send the code of the authenticator app, or a recovery code, as code"}`)
	want(t, s.as(nil, "POST", "/api/auth/login", login+`,"code":"000000"}`), 401,
		wrongCode+`"code":"second_factor",`+codeHint)
	want(t, s.as(nil, "POST", "/api/auth/login", login+`,"code":7}`), 400, noString)
	rec := s.as(nil, "POST", "/api/auth/login", login+`,"code":"`+s.code(secret)+`"}`)
	want(t, rec, 200, adaBody)
	want(t, s.as(nil, "GET", "/api/auth/me", "", "Cookie", cookieOf(t, rec)), 200, adaBody)
	want(t, s.as(s.ada, "GET", "/api/auth/me", ""), 200, adaBody) // an API token needs no code
	bob := `{"email":"bob@example.com","password":"` + password + `","code":"000000"}`
	if rec := s.as(nil, "POST", "/api/auth/login", bob); rec.Code != 200 {
		t.Errorf("a code that is not needed: %d %s", rec.Code, rec.Body)
	}

	wrong := `{"password":"` + password + `","code":"000000"}`
	right := `{"password":"` + password + `","code":"` + recovery[0] + `"}`
	for _, route := range []string{"disable", "recovery-codes"} {
		path := "/api/auth/second-factor/" + route
		want(t, s.as(nil, "POST", path, wrong, session...), 403, wrongCode+`"code":"forbidden",`+codeHint)
		want(t, s.as(nil, "POST", path, `{"password":"guessed","code":"`+recovery[0]+`"}`, session...), 403,
			`{"error":"The current password is wrong","code":"forbidden"}`)
		want(t, s.as(s.ada, "POST", path, right), 403,
			`{"error":"An API token cannot be used here","code":"forbidden","hint":"Sign in to the console"}`)
		want(t, s.as(nil, "POST", path, right, s.signedIn(s.bob)...), 404, noFactor)
		want(t, s.as(nil, "POST", path, `{"code":[]}`, session...), 400, noString)
		want(t, s.as(nil, "POST", path, `{"code":"`+strings.Repeat("x", 9000)+`"}`, session...), 413,
			`{"error":"The body is too large","code":"too_large","hint":"The limit is 8 KiB"}`)
		s.clock.Advance(time.Minute)
	}
	want(t, s.as(nil, "POST", "/api/auth/second-factor/disable", right, session...), 200, `{"success":true}`)
	want(t, s.as(nil, "POST", "/api/auth/login", login+`}`), 200, adaBody)
}

func TestASecondFactorIsResetByAnAdministrator(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.enrol(s.signedIn(s.ada))
	list := s.as(s.admin, "GET", "/api/users?limit=1", "")
	if !strings.Contains(list.Body.String(), `"secondFactor":true`) {
		t.Errorf("%s", list.Body)
	}
	path := "/api/users/" + s.ada.id + "/second-factor"
	for _, who := range []*person{s.ada, s.bob} {
		want(t, s.as(who, "DELETE", path, ""), 403, `{"error":"Only administrators manage users","code":"forbidden"}`)
	}
	want(t, s.as(s.admin, "DELETE", "/api/users/"+s.admin.id+"/second-factor", ""), 403,
		`{"error":"Administrators cannot reset their own second factor","code":"forbidden",`+
			`"hint":"Turn it off in the settings with a code, or ask another administrator or the operator"}`)
	want(t, s.as(s.admin, "DELETE", "/api/users/unknown/second-factor", ""), 404,
		`{"error":"User not found","code":"not_found"}`)
	want(t, s.as(s.admin, "DELETE", path, ""), 200, `{"success":true}`)
	want(t, s.as(s.admin, "DELETE", path, ""), 404, noFactor)
	want(t, s.as(nil, "POST", "/api/auth/login", login+`}`), 200, adaBody)
	page := s.audit("?action=second-factor")
	if len(page.Entries) != 2 || page.Entries[0].Action != "second-factor.reset" ||
		page.Entries[0].Actor.ID != s.admin.id || page.Entries[0].Subject.ID != s.ada.id {
		t.Errorf("%+v", page)
	}
}
