package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/protocol"
)

var admin = broker.Caller{UserID: "an administrator", Admin: true}

// use sends a request of a session through the middleware, from an address.
func (d *desk) use(cookie *http.Cookie, from, browser string) (signIn string, err error) {
	d.t.Helper()
	r := with(request("GET", "User-Agent", browser), cookie)
	r.RemoteAddr = from + ":1"
	return d.visit(r, func(context.Context) {})
}

// visit sends a request through the middleware, which gives handle its context.
func (d *desk) visit(r *http.Request, handle func(context.Context)) (signIn string, err error) {
	d.t.Helper()
	err = d.Middleware(func(c echo.Context) error {
		signIn = d.SignInOf(c.Request().Context())
		handle(c.Request().Context())
		return nil
	})(echo.New().NewContext(r, httptest.NewRecorder()))
	return signIn, err
}

func (d *desk) signIns() []broker.SignIn {
	d.t.Helper()
	list, err := d.SignIns(d.t.Context(), broker.Caller{UserID: d.ada.ID}, d.ada.ID)
	must(d.t, err)
	return list
}

func TestASignInShowsBrowserAddressAndLastUse(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST", "User-Agent", "Firefox"))
	list := d.signIns()
	if len(list) != 1 || list[0].UserAgent != "Firefox" || list[0].Address != address || !list[0].BeganAt.Equal(start) ||
		!list[0].LastUsedAt.Equal(start) || !list[0].ExpiresAt.Equal(start.Add(30*24*time.Hour)) {
		t.Fatalf("%+v", list)
	}
	if strings.Contains(list[0].ID, cookie.Value) {
		t.Error("the id reveals the cookie")
	}
	long := strings.Repeat("é", 200)
	for _, c := range []struct {
		after            time.Duration
		from, browser    string
		address, showing string
	}{
		{59 * time.Second, "192.0.2.9", "curl", address, "Firefox"}, // written once a minute
		{time.Second, "192.0.2.9", "curl", "192.0.2.9", "curl"},
		{time.Hour, "192.0.2.10", long + "\xff\x00", "192.0.2.10", strings.Repeat("é", 150)},
	} {
		d.clock.Advance(c.after)
		id, err := d.use(cookie, c.from, c.browser)
		must(t, err)
		got := d.signIns()[0]
		if id != got.ID || got.Address != c.address || got.UserAgent != c.showing || !got.BeganAt.Equal(start) {
			t.Errorf("%+v, used %s", got, id)
		}
	}
	if got := d.signIns()[0].LastUsedAt; !got.Equal(d.clock.Now()) {
		t.Errorf("last used %s", got)
	}
}

func TestASessionOfAnEarlierVersionIsListedFromItsNextUse(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST"))
	id := d.signIns()[0].ID
	d.exec(`UPDATE logins SET id = '', user_id = '', began_at = NULL, last_used_at = NULL`)
	if list := d.signIns(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	used, err := d.use(cookie, "192.0.2.9", "Firefox")
	must(t, err)
	if list := d.signIns(); used != id || len(list) != 1 || list[0].ID != id || !list[0].BeganAt.Equal(start) {
		t.Errorf("used %s of %+v", used, list)
	}
}

func TestASignInIsEndedByItsUserOrAnAdministrator(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	eve, err := d.CreateUser(t.Context(), "eve@example.com", password, false)
	must(t, err)
	mine, other := d.signIn(request("POST")), d.signIn(request("POST"))
	id, err := d.use(other, "192.0.2.9", "Firefox")
	must(t, err)
	self := broker.Caller{UserID: d.ada.ID}
	_, err = d.SignIns(t.Context(), broker.Caller{UserID: eve.ID}, d.ada.ID)
	wantCode(t, err, protocol.CodeForbidden)
	_, err = d.SignIns(t.Context(), broker.Caller{}, "")
	wantCode(t, err, protocol.CodeForbidden)
	_, err = d.SignIns(t.Context(), admin, "unknown")
	wantCode(t, err, protocol.CodeNotFound)
	wantCode(t, d.EndSignIn(t.Context(), broker.Caller{UserID: eve.ID}, d.ada.ID, id), protocol.CodeForbidden)
	wantCode(t, d.EndSignIn(t.Context(), broker.Caller{UserID: eve.ID}, eve.ID, id), protocol.CodeNotFound)
	d.wantCaller(with(request("GET"), other))
	must(t, d.EndSignIn(t.Context(), self, d.ada.ID, id))
	wantCode(t, d.EndSignIn(t.Context(), self, d.ada.ID, id), protocol.CodeNotFound)
	d.wantNoCaller(with(request("GET"), other), protocol.CodeUnauthorized)
	d.wantCaller(with(request("GET"), mine))
	must(t, d.EndSignIn(t.Context(), admin, d.ada.ID, d.signIns()[0].ID))
	d.wantNoCaller(with(request("GET"), mine), protocol.CodeUnauthorized)
	const ended = `sign-in.ended by broker  "" on user ada "ada@example.com" null`
	if got := d.audit(); len(got) != 5 || got[3] != ended || got[4] != ended {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestADisabledUserIsOutAtOnceAndForGood(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	_, err := d.CreateUser(t.Context(), "root@example.com", password, true)
	must(t, err)
	cookie := d.signIn(request("POST"))
	plain, _ := d.token("laptop", 0)
	link, err := d.CreateLink(t.Context(), d.ada.ID)
	must(t, err)
	before := len(d.audit())
	for _, c := range []broker.Caller{{}, {UserID: d.ada.ID}} {
		_, err := d.SetDisabled(t.Context(), c, d.ada.ID, true)
		wantCode(t, err, protocol.CodeForbidden)
		_, err = d.Users(t.Context(), c, "", 10)
		wantCode(t, err, protocol.CodeForbidden)
		wantCode(t, d.DeleteUser(t.Context(), c, d.ada.ID), protocol.CodeForbidden)
	}
	d.clock.Advance(time.Second)
	for range 2 { // the second one changes nothing
		got, err := d.SetDisabled(t.Context(), admin, d.ada.ID, true)
		must(t, err)
		if got.DisabledAt == nil || !got.DisabledAt.Equal(start.Add(time.Second)) {
			t.Errorf("%+v", got)
		}
		d.clock.Advance(time.Second)
	}
	isOut := func() {
		t.Helper()
		d.wantNoCaller(with(request("GET"), cookie), protocol.CodeUnauthorized)
		d.wantNoCaller(bearer("GET", plain), protocol.CodeUnauthorized)
		_, err = d.SignInByLink(httptest.NewRecorder(), request("POST"), address, link)
		wantCode(t, err, protocol.CodeUnauthorized)
	}
	isOut()
	_, err = d.SignIn(httptest.NewRecorder(), request("POST"), address, email, password)
	wantCode(t, err, protocol.CodeForbidden)
	_, err = d.SignIn(httptest.NewRecorder(), request("POST"), address, email, "guessed") // a guesser does not learn it
	wantCode(t, err, protocol.CodeUnauthorized)
	fresh, err := d.CreateLink(t.Context(), d.ada.ID)
	must(t, err)
	_, err = d.SignInByLink(httptest.NewRecorder(), request("POST"), address, fresh)
	wantCode(t, err, protocol.CodeForbidden)
	_, err = d.SetDisabled(t.Context(), admin, d.ada.ID, false)
	must(t, err)
	isOut()
	d.wantCaller(with(request("GET"), d.signIn(request("POST"))))
	var acts []string
	for _, line := range d.audit()[before:] {
		acts = append(acts, strings.Fields(line)[0])
	}
	want := "user.disabled sign-in.failed sign-in.failed sign-in.failed sign-in.link sign-in.failed " +
		"user.enabled sign-in.failed sign-in"
	if got := strings.Join(acts, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Credentials that another request stores meanwhile are refused, too.
func TestADisabledUsersNewCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST"))
	plain, _ := d.token("laptop", 0)
	d.exec(`UPDATE users SET disabled_at = created_at`)
	d.wantNoCaller(with(request("GET"), cookie), protocol.CodeUnauthorized)
	d.wantNoCaller(bearer("GET", plain), protocol.CodeUnauthorized)
}

func TestADeletedUserIsOutAndTheirAddressIsFree(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST"))
	plain, _ := d.token("laptop", 0)
	must(t, d.DeleteUser(t.Context(), admin, d.ada.ID))
	d.wantNoCaller(with(request("GET"), cookie), protocol.CodeUnauthorized)
	d.wantNoCaller(bearer("GET", plain), protocol.CodeUnauthorized)
	_, err := d.SignIn(httptest.NewRecorder(), request("POST"), address, email, password)
	wantCode(t, err, protocol.CodeUnauthorized)
	wantCode(t, d.DeleteUser(t.Context(), admin, d.ada.ID), protocol.CodeNotFound)
	_, err = d.SetDisabled(t.Context(), admin, d.ada.ID, false)
	wantCode(t, err, protocol.CodeNotFound)
	_, err = d.SignIns(t.Context(), admin, d.ada.ID)
	wantCode(t, err, protocol.CodeNotFound)
	if list, err := d.Users(t.Context(), admin, "", 10); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	_, err = d.CreateUser(t.Context(), email, password, false)
	must(t, err)
	if got := d.audit(); !strings.HasPrefix(got[len(got)-3], "user.deleted by broker") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestTheLastAdministratorStays(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	root, err := d.CreateUser(t.Context(), "root@example.com", password, true)
	must(t, err)
	before := len(d.audit())
	_, err = d.SetDisabled(t.Context(), admin, root.ID, true)
	wantCode(t, err, protocol.CodeConflict)
	wantCode(t, d.DeleteUser(t.Context(), admin, root.ID), protocol.CodeConflict)
	if got := len(d.audit()); got != before {
		t.Errorf("%d acts", got-before)
	}
	second, err := d.CreateUser(t.Context(), "second@example.com", password, true)
	must(t, err)
	must(t, d.DeleteUser(t.Context(), admin, root.ID))
	wantCode(t, d.DeleteUser(t.Context(), admin, second.ID), protocol.CodeConflict)
}

// A change of the password resets the limit: the user has proved to know the old one.
func TestAChangedPasswordResetsTheAttempts(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	mine := d.signIn(request("POST"))
	for range 2 {
		for range 9 {
			_, _ = d.change(with(request("POST"), mine), "guessed", next)
		}
		var err error
		mine, err = d.change(with(request("POST"), mine), password, password)
		must(t, err)
	}
}
