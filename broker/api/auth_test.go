package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func cookieOf(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	cookies := rec.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("%d cookies, %d %s", len(cookies), rec.Code, rec.Body)
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

const adaBody = `{"user":{"id":"<id1>","email":"ada@example.com","admin":false,"createdAt":"+0s"}}`

func TestABrowserSignsInAndOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rec := s.as(nil, "POST", "/api/auth/login", `{"email":"ada@example.com","password":"`+password+`"}`)
	want(t, rec, 200, adaBody)
	cookie := cookieOf(t, rec)
	want(t, s.as(nil, "GET", "/api/auth/me", "", "Cookie", cookie), 200, adaBody)
	want(t, s.as(nil, "POST", "/api/tokens", `{"name":"x"}`, "Cookie", cookie, "Sec-Fetch-Site", "cross-site"), 403,
		`{"error":"Cross-site request refused","code":"forbidden",`+
			`"hint":"From another origin use an API token in the Authorization header"}`)
	want(t, s.as(nil, "POST", "/api/auth/logout", "", "Cookie", cookie), 200, `{"success":true}`)
	want(t, s.as(nil, "GET", "/api/auth/me", "", "Cookie", cookie), 401, unauthorized)
}

func TestALinkSignsInOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	link, err := s.auth.CreateLink(t.Context(), s.ada.id)
	must(t, err)
	rec := s.as(nil, "POST", "/api/auth/login", `{"link":"`+link+`"}`)
	want(t, rec, 200, adaBody)
	want(t, s.as(nil, "GET", "/api/auth/me", "", "Cookie", cookieOf(t, rec)), 200, adaBody)
	want(t, s.as(nil, "POST", "/api/auth/login", `{"link":"`+link+`"}`), 401,
		`{"error":"The sign-in link is used or expired","code":"unauthorized",`+
			`"hint":"Start bellhop dev again for a new one, or sign in with email and password"}`)
}

func TestWrongSignInsAndTheirLimit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const wrong = `{"error":"Wrong email or password","code":"unauthorized"}`
	for range 10 {
		long := `{"email":"eve@example.com","password":"` + strings.Repeat("x", 2000) + `"}`
		want(t, s.as(nil, "POST", "/api/auth/login", long), 401, wrong)
	}
	rec := s.as(nil, "POST", "/api/auth/login", `{"email":"eve@example.com","password":"x"}`)
	want(t, rec, 429, `{"error":"Too many sign-in attempts",`+
		`"code":"too_many_requests","hint":"Wait a moment and try again"}`)
	if got := rec.Header().Get("Retry-After"); got != "6" {
		t.Errorf("Retry-After %q", got)
	}
}

func TestTokensAreShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := s.signedIn(s.ada)
	rec := s.as(nil, "POST", "/api/tokens",
		`{"name":"laptop","scopes":["tasks:read"],"expiresAt":"2200-01-01T01:00:00+01:00"}`, session...)
	if rec.Code != http.StatusCreated {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	id, token := field(t, rec, "id"), field(t, rec, "token")
	if got := field(t, rec, "expiresAt"); got != "2200-01-01T00:00:00Z" {
		t.Errorf("expiresAt %s", got)
	}
	want(t, s.as(&person{token: token}, "GET", "/api/auth/me", ""), 200, adaBody)
	list := s.as(s.ada, "GET", "/api/tokens", "")
	if list.Code != 200 || strings.Contains(list.Body.String(), "bhp_") ||
		!strings.Contains(list.Body.String(), `"name":"laptop"`) {
		t.Errorf("%d %s", list.Code, list.Body)
	}
	want(t, s.as(s.bob, "DELETE", "/api/tokens/"+id, ""), 404, `{"error":"Token not found","code":"not_found"}`)
	want(t, s.as(s.ada, "DELETE", "/api/tokens/"+id, ""), 200, `{"success":true}`)
	want(t, s.as(&person{token: token}, "GET", "/api/auth/me", ""), 401, unauthorized)
	want(t, s.as(s.bob, "GET", "/api/tokens", ""), 200,
		`{"tokens":[{"id":"<id1>","name":"test","kind":"user","scopes":["tasks:read","tasks:write","notebooks","hosts","webhooks","admin"],`+
			`"expiresAt":null,"lastUsedAt":"+0s","createdAt":"+0s"}],"maxLifetime":0}`)
	want(t, s.as(nil, "POST", "/api/tokens", `{"name":"a","kind":"agent"}`, session...), 400,
		`{"error":"agentIdentifier is required for tokens of kind agent","code":"invalid",`+
			`"hint":"Name the one agent the token is for, such as claude-code"}`)
	want(t, s.as(nil, "POST", "/api/tokens", `{"name":"a","expiresAt":"tomorrow"}`, session...), 400,
		`{"error":"expiresAt must be an RFC 3339 time","code":"invalid"}`)
}
