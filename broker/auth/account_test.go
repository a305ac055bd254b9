package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/protocol"
)

const next = "another horse battery"

// change sends a change of the password as the owner of a credential and returns the new cookie.
func (d *desk) change(r *http.Request, current, password string) (*http.Cookie, error) {
	d.t.Helper()
	w := httptest.NewRecorder()
	err := d.Middleware(func(c echo.Context) error {
		return d.ChangePassword(c.Response(), c.Request(), address, current, password)
	})(echo.New().NewContext(r, w))
	if cookies := w.Result().Cookies(); len(cookies) == 1 {
		return cookies[0], err
	}
	return nil, err
}

func TestAChangedPasswordEndsTheOtherSessions(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	mine, other := d.signIn(request("POST")), d.signIn(request("POST"))
	plain, _ := d.token("laptop", 0)
	d.clock.Advance(time.Second)
	fresh, err := d.change(with(request("POST"), mine), password, next)
	must(t, err)
	for name, c := range map[string]*http.Cookie{"the cookie that changed it": mine, "another session": other} {
		t.Run(name, func(t *testing.T) { d.wantNoCaller(with(request("GET"), c), protocol.CodeUnauthorized) })
	}
	d.wantCaller(with(request("GET"), fresh))
	d.wantCaller(bearer("GET", plain))
	_, err = d.SignIn(httptest.NewRecorder(), request("POST"), address, email, password)
	wantCode(t, err, protocol.CodeUnauthorized)
	_, err = d.SignIn(httptest.NewRecorder(), request("POST"), address, email, next)
	must(t, err)

	d.clock.Advance(time.Second)
	must(t, d.SetPassword(t.Context(), d.ada.ID, password)) // by an operator
	d.wantNoCaller(with(request("GET"), fresh), protocol.CodeUnauthorized)
	d.clock.Advance(-3 * time.Second) // a replica whose clock is behind
	d.wantCaller(with(request("GET"), d.signIn(request("POST"))))
}

func TestAPasswordIsChangedOnlyWithTheCurrentOne(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	mine := d.signIn(request("POST"))
	plain, _ := d.token("laptop", 0)
	for _, c := range []struct {
		name              string
		r                 *http.Request
		current, password string
		code              protocol.Code
	}{
		{"wrong current", with(request("POST"), mine), "guessed", next, protocol.CodeForbidden},
		{"no current", with(request("POST"), mine), "", next, protocol.CodeForbidden},
		{"short", with(request("POST"), mine), password, "short", protocol.CodeInvalid},
		{"common", with(request("POST"), mine), password, "qwerty123", protocol.CodeInvalid},
		{"an API token", bearer("POST", plain), password, next, protocol.CodeForbidden},
		{"another site", with(request("POST", "Sec-Fetch-Site", "cross-site"), mine), password, next, protocol.CodeForbidden},
		{"not signed in", request("POST"), password, next, protocol.CodeUnauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			cookie, err := d.change(c.r, c.current, c.password)
			wantCode(t, err, c.code)
			if cookie != nil {
				t.Error("a new session")
			}
		})
	}
	d.wantCaller(with(request("GET"), mine))
	for range 10 { // with a stolen session
		_, _ = d.change(with(request("POST"), mine), "guessed", next)
	}
	_, err := d.change(with(request("POST"), mine), password, next)
	wantCode(t, err, protocol.CodeTooManyRequests)
}

func TestAChangeOfThePasswordIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	mine := d.signIn(request("POST"))
	_, err := d.change(with(request("POST"), mine), "guessed", next)
	wantCode(t, err, protocol.CodeForbidden)
	_, err = d.change(with(request("POST"), mine), password, next)
	must(t, err)
	d.wantAudit(
		`sign-in by user ada "192.0.2.1:4711" on user ada "ada@example.com" null`,
		`sign-in.failed by visitor  "192.0.2.1:4711" on user ada "ada@example.com" null`,
		`user.password by user ada "192.0.2.1:4711" on user ada "ada@example.com" null`,
	)
}
