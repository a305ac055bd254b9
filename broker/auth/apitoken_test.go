package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/broker/auth"
	"bellhop/protocol"
)

func (d *desk) token(name string, life time.Duration) (string, *broker.APIToken) {
	d.t.Helper()
	t := &broker.APIToken{UserID: d.ada.ID, Name: name}
	if life > 0 {
		expires := d.clock.Now().Add(life)
		t.ExpiresAt = &expires
	}
	plain, err := d.CreateToken(d.t.Context(), t)
	if err != nil {
		d.t.Fatal(err)
	}
	return plain, t
}

func bearer(method, token string) *http.Request {
	return request(method, "Authorization", "Bearer "+token)
}

func TestAnAPITokenActsAsItsUser(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	plain, made := d.token("laptop", 0)
	if !strings.HasPrefix(plain, "bhp_") || len(plain) != len("bhp_")+43 {
		t.Errorf("a token of %d characters", len(plain))
	}
	d.wantCaller(bearer("GET", plain))
	d.wantCaller(request("POST", "Authorization", "bearer "+plain,
		"Sec-Fetch-Site", "cross-site", "Origin", "https://app.example"))
	if strings.Contains(string(made.Hash), plain) || made.Kind != broker.TokenUser {
		t.Errorf("got %+v", made)
	}
}

func TestAWrongAuthorizationNeverFallsBackToTheCookie(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST"))
	plain, _ := d.token("laptop", 0)
	for _, c := range []struct {
		name    string
		headers []string
	}{
		{"unknown token", []string{"Authorization", "Bearer bhp_unknown"}},
		{"changed token", []string{"Authorization", "Bearer " + plain + "A"}},
		{"no prefix", []string{"Authorization", "Bearer " + strings.TrimPrefix(plain, "bhp_")}},
		{"a webhook token", []string{"Authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln"}},
		{"another scheme", []string{"Authorization", "Basic " + plain}},
		{"empty", []string{"Authorization", ""}},
		{"two", []string{"Authorization", "Bearer " + plain, "Authorization", "Bearer " + plain}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.wantNoCaller(with(request("GET", c.headers...), cookie), protocol.CodeUnauthorized)
		})
	}
	d.wantNoCaller(request("GET"), protocol.CodeUnauthorized)
}

func TestAnAPITokenEndsWhenItExpiresOrIsDeleted(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	short, _ := d.token("short", time.Hour)
	long, made := d.token("long", 0)
	d.clock.Advance(time.Hour - time.Second)
	d.wantCaller(bearer("GET", short))
	d.clock.Advance(time.Second)
	d.wantNoCaller(bearer("GET", short), protocol.CodeUnauthorized)
	d.wantCaller(bearer("GET", long))
	wantCode(t, d.DeleteToken(t.Context(), "someone else", made.ID), protocol.CodeNotFound)
	d.wantCaller(bearer("GET", long))
	must(t, d.DeleteToken(t.Context(), d.ada.ID, made.ID))
	d.wantNoCaller(bearer("GET", long), protocol.CodeUnauthorized)
}

func TestTheUseOfATokenIsRecordedOnceAMinute(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	plain, _ := d.token("laptop", 0)
	lastUse := func() time.Time {
		t.Helper()
		tokens, err := d.ListTokens(t.Context(), d.ada.ID)
		must(t, err)
		if len(tokens) != 1 || tokens[0].LastUsedAt == nil {
			t.Fatalf("got %+v", tokens)
		}
		return tokens[0].LastUsedAt.UTC()
	}
	for _, c := range []struct{ after, noted time.Duration }{
		{0, 0},
		{59 * time.Second, 0},
		{time.Minute, time.Minute},
		{119 * time.Second, time.Minute},
		{2 * time.Minute, 2 * time.Minute},
	} {
		d.clock.Advance(start.Add(c.after).Sub(d.clock.Now()))
		d.wantCaller(bearer("GET", plain))
		if got := lastUse(); !got.Equal(start.Add(c.noted)) {
			t.Errorf("used after %s, noted %s", c.after, got.Sub(start))
		}
	}
}

func TestInvalidNewTokensAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	past := start.Add(-time.Second)
	for _, c := range []struct {
		name    string
		token   broker.APIToken
		message string
	}{
		{"without a name", broker.APIToken{Name: " "}, "name is required"},
		{
			"with a name that is too long",
			broker.APIToken{Name: strings.Repeat("ä", 201)},
			"name is longer than 200 characters",
		},
		{"expired", broker.APIToken{Name: "a", ExpiresAt: &past}, "expiresAt is in the past"},
		{"of an unknown kind", broker.APIToken{Name: "a", Kind: "admin"}, "kind must be user or agent"},
		{
			"of an agent without an identifier",
			broker.APIToken{Name: "a", Kind: broker.TokenAgent, AgentIdentifier: " "},
			"agentIdentifier is required for tokens of kind agent",
		},
		{
			"of an agent with an identifier that is too long",
			broker.APIToken{Name: "a", Kind: broker.TokenAgent, AgentIdentifier: strings.Repeat("x", 201)},
			"agentIdentifier is longer than 200 bytes",
		},
		{
			"of a user with an agent's identifier",
			broker.APIToken{Name: "a", AgentIdentifier: "x"},
			"agentIdentifier belongs to tokens of kind agent",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.token.UserID = d.ada.ID
			_, err := d.CreateToken(t.Context(), &c.token)
			wantCode(t, err, protocol.CodeInvalid)
			if err == nil || err.Error() != c.message {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTokensHaveAnExpiryWithinTheLongestLife(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	limited := auth.New(auth.Options{Store: d.store, TokenLife: 24 * time.Hour, Now: d.clock.Now})
	for _, c := range []struct {
		name    string
		life    time.Duration
		message string
	}{
		{"none", 0, "expiresAt is required"},
		{"the longest", 24 * time.Hour, ""},
		{"longer", 25 * time.Hour, "expiresAt is too late"},
		{"in the past", -time.Second, "expiresAt is in the past"},
	} {
		for _, kind := range []broker.APIToken{{Name: "a"}, {Name: "a", Kind: broker.TokenAgent, AgentIdentifier: "x"}} {
			kind.UserID = d.ada.ID
			if at := d.clock.Now().Add(c.life); c.life != 0 {
				kind.ExpiresAt = &at
			}
			_, err := limited.CreateToken(t.Context(), &kind)
			if got := fmt.Sprint(err); err == nil && c.message != "" || err != nil && got != c.message {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

func TestARouteWithoutAScopeIsClosedToTokens(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	plain, _ := d.token("laptop", 0)
	e := echo.New()
	var admitted int
	for _, path := range []string{"/api/tasks", "/api/a-new-route"} {
		e.GET(path, func(echo.Context) error { admitted++; return nil }, d.Middleware)
	}
	var failed error
	e.HTTPErrorHandler = func(err error, _ echo.Context) { failed = err }
	for path, want := range map[string]protocol.Code{"/api/tasks": "", "/api/a-new-route": protocol.CodeForbidden} {
		failed = nil
		r := bearer("GET", plain)
		r.URL.Path = path
		e.ServeHTTP(httptest.NewRecorder(), r)
		wantCode(t, failed, want)
		failed = nil
		session := with(request("GET"), d.signIn(request("POST")))
		session.URL.Path = path
		e.ServeHTTP(httptest.NewRecorder(), session)
		wantCode(t, failed, "")
	}
	if admitted != 3 {
		t.Errorf("%d requests were admitted", admitted)
	}
}

func TestRequestsOfAUserAreCounted(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	limited := auth.New(auth.Options{Store: d.store, Requests: 3, Now: d.clock.Now})
	first, _ := d.token("laptop", 0)
	second, _ := d.token("phone", 0)
	e := echo.New()
	e.GET("/api/tasks", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) }, limited.Middleware)
	var failed error
	e.HTTPErrorHandler = func(err error, _ echo.Context) { failed = err }
	send := func(token string) error {
		failed = nil
		e.ServeHTTP(httptest.NewRecorder(), bearer("GET", token))
		return failed
	}
	for _, token := range []string{first, second, first} {
		wantCode(t, send(token), "")
	}
	err := send(second)
	wantCode(t, err, protocol.CodeTooManyRequests)
	var known *protocol.Error
	if !errors.As(err, &known) || known.RetryAfter != 20 || known.Hint == "" {
		t.Errorf("%+v", known)
	}
	d.clock.Advance(20 * time.Second)
	wantCode(t, send(second), "")
	wantCode(t, send(first), protocol.CodeTooManyRequests)
}
