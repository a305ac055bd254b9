package inbound_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

// Every row is rejected before the body is read: nothing reaches the domain and no token
// reaches a log.
func TestAnInvalidTokenStoresNothing(t *testing.T) {
	t.Parallel()
	iat := start.Unix()
	hs256 := `{"alg":"HS256","typ":"JWT"}`
	claims := func(exp any, more string) string {
		return fmt.Sprintf(`{"taskId":"task-1","turnId":"turn-1","iat":%d,"exp":%v,"jti":"j","aud":"agent-webhook"%s}`,
			iat, exp, more)
	}
	good := claims(iat+600, "")
	fetched := 0
	keys := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched++ }))
	defer keys.Close()

	cases := []struct {
		name   string
		token  func(s *site) string
		status int
		body   string
	}{
		{"none at all", func(*site) string { return "" }, 400, missing},
		{"not a JWT", func(*site) string { return "hello" }, 400, format},
		{"payload is no JSON", func(s *site) string { return s.forge(hs256, "x") }, 400, payload},
		{"no taskId", func(s *site) string { return s.forge(hs256, `{"exp":1}`) }, 400, payload},
		{"taskId is a number", func(s *site) string { return s.forge(hs256, `{"taskId":1}`) }, 400, payload},
		{"unknown task", func(s *site) string {
			return s.forge(hs256, strings.Replace(good, "task-1", "task-9", 1))
		}, 404, notFound},
		{
			"alg none", func(*site) string { return strings.TrimSuffix(forge(`{"alg":"none"}`, good, ""), ".") },
			401, invalid,
		},
		{"alg none, empty signature", func(*site) string {
			unsigned := forge(`{"alg":"none"}`, good, "")
			return unsigned[:strings.LastIndex(unsigned, ".")+1]
		}, 401, invalid},
		{"RS256 over an HS256 MAC", func(s *site) string { return s.forge(`{"alg":"RS256"}`, good) }, 401, invalid},
		{"HS512 over an HS256 MAC", func(s *site) string { return s.forge(`{"alg":"HS512"}`, good) }, 401, invalid},
		{"no alg", func(s *site) string { return s.forge(`{"typ":"JWT"}`, good) }, 401, invalid},
		{
			"another task's secret", func(s *site) string { return forge(hs256, good, s.fakeDomain.secrets[other]) },
			401, invalid,
		},
		{"duplicate taskId claim", func(s *site) string {
			return s.forge(hs256, claims(iat+600, `,"taskId":"task-1"`))
		}, 401, invalid},
		{"no exp", func(s *site) string {
			return s.forge(hs256, fmt.Sprintf(`{"taskId":"task-1","iat":%d,"aud":"agent-webhook"}`, iat))
		}, 401, invalid},
		{"no iat", func(s *site) string {
			return s.forge(hs256, fmt.Sprintf(`{"taskId":"task-1","exp":%d,"aud":"agent-webhook"}`, iat+600))
		}, 401, invalid},
		{"exp in 100 years", func(s *site) string { return s.forge(hs256, claims(iat+100*365*86400, "")) }, 401, invalid},
		{"exp-iat is 601", func(s *site) string { return s.forge(hs256, claims(iat+601, "")) }, 401, invalid},
		{"exp before iat", func(s *site) string { return s.forge(hs256, claims(iat-1, "")) }, 401, invalid},
		{
			"exp as string", func(s *site) string { return s.forge(hs256, claims(fmt.Sprintf(`"%d"`, iat+600), "")) },
			401, invalid,
		},
		{"exp null", func(s *site) string { return s.forge(hs256, claims("null", "")) }, 401, invalid},
		{"exp -1", func(s *site) string { return s.forge(hs256, claims(-1, "")) }, 401, invalid},
		{"exp 1e18", func(s *site) string { return s.forge(hs256, claims("1e18", "")) }, 401, invalid},
		{"wrong aud", func(s *site) string {
			return s.forge(hs256, strings.Replace(good, "agent-webhook", "stream", 1))
		}, 401, invalid},
		{"padded base64", func(s *site) string { return s.token() + "%3D" }, 400, format},
		{"white space before", func(s *site) string { return "%20" + s.token() }, 400, format},
		{"a newline behind", func(s *site) string { return s.token() + "%0A" }, 400, format},
		{"JWE has five parts", func(s *site) string { return s.token() + ".a.b" }, 400, format},
		{"JSON serialisation", func(s *site) string {
			p := strings.Split(s.token(), ".")
			return "%7B%22payload%22:%22" + p[1] + "%22,%22protected%22:%22" + p[0] + "%22,%22signature%22:%22" + p[2] + "%22%7D"
		}, 400, format},
		{"crit", func(s *site) string { return s.forge(`{"alg":"HS256","crit":["x"],"x":1}`, good) }, 401, invalid},
		{"b64", func(s *site) string { return s.forge(`{"alg":"HS256","b64":false}`, good) }, 401, invalid},
		{"jku fetches nothing", func(s *site) string {
			return s.forge(`{"alg":"HS256","jku":"`+keys.URL+`"}`, good)
		}, 401, invalid},
		{
			"jwk", func(s *site) string { return s.forge(`{"alg":"HS256","jwk":{"kty":"oct","k":"YQ"}}`, good) },
			401, invalid,
		},
		{
			"token twice in the query", func(s *site) string { return s.token() + "&token=" + s.token() }, 400,
			`{"error":"Invalid token format","code":"invalid","hint":"Send one token parameter"}`,
		},
		{
			"the second behind a broken escape", func(s *site) string { return s.token() + "&token=%zz" }, 400,
			`{"error":"Invalid token format","code":"invalid","hint":"Send one token parameter"}`,
		},
		{
			"an outbound signature", func(*site) string { return "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=" },
			400, format,
		},
		{"over 2048 characters", func(*site) string { return strings.Repeat("a", 2049) }, 400, format},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			presented := c.token(s)
			r, body := post(path+"?token="+presented, text)
			want(t, s.do(r), c.status, c.body)
			if body.read != 0 {
				t.Errorf("%d bytes of the body were read", body.read)
			}
			if s.fakeDomain.eventCount() != 0 {
				t.Error("an event reached the domain")
			}
			if len(presented) > 20 && strings.Contains(s.logs.String(), presented[:20]) {
				t.Errorf("the token is in the log:\n%s", s.logs)
			}
		})
	}
	if fetched != 0 {
		t.Errorf("%d requests to the key server a token named", fetched)
	}
}

func TestAnExpiredTokenIsReportedAfterTheBodyIsDrained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r, body := post(path+"?token="+s.token(), text)
	s.clock.Advance(10 * time.Minute)
	want(t, s.do(r), 401, expired)
	if body.read != len(text) {
		t.Errorf("%d of %d bytes read: the answer may reach the host as a reset", body.read, len(text))
	}
	if s.fakeDomain.eventCount() != 0 {
		t.Error("an event reached the domain")
	}
}

func TestAnExpiredTokenOfAnotherSecretIsInvalid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	presented := s.token()
	s.clock.Advance(time.Hour)
	s.fakeDomain.secrets[taskID] = s.fakeDomain.secrets[other]
	r, _ := post(path+"?token="+presented, text)
	want(t, s.do(r), 401, invalid)
}

func TestTheTokenMayBeInTheQueryOrInAuthorization(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	good, wrong := s.token(), s.sign(other)
	cases := []struct {
		name, query string
		headers     []string
		status      int
		body        string
	}{
		{"query", good, nil, 200, acceptedOne},
		{"bearer", "", []string{"Bearer " + good}, 200, acceptedOne},
		{"bearer in lower case", "", []string{"bearer " + good}, 200, acceptedOne},
		{"both, the same", good, []string{"Bearer " + good}, 200, acceptedOne},
		{
			"both, different", good,
			[]string{"Bearer " + wrong},
			401,
			`{"error":"Invalid or expired token","code":"unauthorized","hint":"The token in the query and the one in Authorization differ; send one"}`,
		},
		{"another scheme is no token", "", []string{"Basic YTpi"}, 400, missing},
		{"an empty bearer is no token", "", []string{"Bearer "}, 400, missing},
		{
			"two headers", "",
			[]string{"Bearer " + good, "Bearer " + good},
			400,
			`{"error":"Invalid token format","code":"invalid","hint":"Send one Authorization header"}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			target := path
			if c.query != "" {
				target += "?token=" + c.query
			}
			r, _ := post(target, text)
			for _, h := range c.headers {
				r.Header.Add("Authorization", h)
			}
			want(t, s.do(r), c.status, c.body)
		})
	}
}

func TestAFailureToReadTheSecretIsNoTokenError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		err    error
		status int
		body   string
	}{
		{
			"database away",
			&protocol.Error{Code: protocol.CodeUnavailable, Message: "the database is not available", RetryAfter: 1}, 503,
			`{"error":"the database is not available","code":"unavailable"}`,
		},
		{"an internal error", errors.New("boom"), 500, `{"error":"Internal error","code":"internal"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			r, _ := post(path+"?token="+s.token(), text)
			s.fakeDomain.fail = c.err
			got := s.do(r)
			want(t, got, c.status, c.body)
			if c.status == 503 && got.Header().Get("Retry-After") != "1" {
				t.Errorf("Retry-After %q", got.Header().Get("Retry-After"))
			}
			if c.status == 500 && !strings.Contains(s.logs.String(), `"err":"boom"`) {
				t.Errorf("the cause is not logged: %s", s.logs)
			}
		})
	}
}

func TestASecretTooShortIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r, _ := post(path+"?token="+s.token(), text)
	s.fakeDomain.secrets[taskID] = "short"
	want(t, s.do(r), 500, `{"error":"Internal error","code":"internal"}`)
}
