package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/protocol"
)

func TestASessionCookieIsForBrowsersOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, publicURL, host, cookie string
		secure                        bool
	}{
		{"a program on plain http", "http://127.0.0.1:7700", "127.0.0.1:7700", "bellhop_session", false},
		{"a browser on this machine", "http://127.0.0.1:7700", "bellhop.localhost:7700", "__Host-bellhop_session", true},
		{"https", "https://bellhop.example.com", "bellhop.example.com", "__Host-bellhop_session", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, c.publicURL)
			at := func(r *http.Request) *http.Request { r.Host = c.host; return r }
			got := d.signIn(at(request("POST")))
			if got.Name != c.cookie || got.Secure != c.secure || !got.HttpOnly ||
				got.SameSite != http.SameSiteLaxMode || got.Path != "/" || got.Domain != "" {
				t.Errorf("got %v", got)
			}
			if got.MaxAge < 29*86400 || got.MaxAge > 30*86400+1 {
				t.Errorf("Max-Age %d", got.MaxAge)
			}
			d.wantCaller(with(at(request("GET")), got))
			if _, _, found, err := d.store.FindLogin(t.Context(), got.Value); found || err != nil {
				t.Errorf("the store knows the cookie itself: %v, %v", found, err)
			}
		})
	}
}

// A page at a name below the console's can set a cookie for both names, but none with the prefix __Host-.
func TestACookieOfANameBelowTheConsolesIsNoSession(t *testing.T) {
	t.Parallel()
	d := open(t, "http://127.0.0.1:7700")
	planted := d.signIn(request("POST"))
	r := with(request("GET"), planted)
	d.wantCaller(r)
	r.Host = "bellhop.localhost:7700"
	d.wantNoCaller(r, protocol.CodeUnauthorized)
}

func TestEveryWrongSignInLooksTheSame(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	for _, c := range []struct {
		name, email, password string
		code                  protocol.Code
		message               string
	}{
		{"wrong password", email, "wrong password", protocol.CodeUnauthorized, "Wrong email or password"},
		{"unknown account", "nobody@example.com", password, protocol.CodeUnauthorized, "Wrong email or password"},
		{"a password over the limit", email, strings.Repeat("x", 5000), protocol.CodeUnauthorized, "Wrong email or password"},
		{"no password", email, "", protocol.CodeInvalid, "email and password are required"},
		{"no email", "", password, protocol.CodeInvalid, "email and password are required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			_, err := d.SignIn(w, request("POST"), address, c.email, c.password)
			wantCode(t, err, c.code)
			if err == nil || err.Error() != c.message || w.Header().Get("Set-Cookie") != "" {
				t.Errorf("got %v, cookie %q", err, w.Header().Get("Set-Cookie"))
			}
		})
	}
}

func TestGuessesFromOneAddressDoNotLockTheAccountForOthers(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	try := func(address, email string) error {
		_, err := d.SignIn(httptest.NewRecorder(), request("POST"), address, email, strings.Repeat("x", 2000))
		return err
	}
	for range 10 {
		wantCode(t, try("192.0.2.7:1", email), protocol.CodeUnauthorized)
	}
	wantCode(t, try("192.0.2.7:2", email), protocol.CodeTooManyRequests)
	wantCode(t, try("192.0.2.7:2", "Ada@EXAMPLE.com "), protocol.CodeTooManyRequests)
	wantCode(t, try("[::ffff:192.0.2.7]:2", email), protocol.CodeTooManyRequests)
	wantCode(t, try("192.0.2.7:2", "another@example.com"), protocol.CodeUnauthorized)
	_, err := d.SignIn(httptest.NewRecorder(), request("POST"), "192.0.2.8:1", email, password)
	must(t, err)
	d.clock.Advance(6 * time.Second)
	wantCode(t, try("192.0.2.7:3", email), protocol.CodeUnauthorized)
	wantCode(t, try("192.0.2.7:4", email), protocol.CodeTooManyRequests)
}

func TestSignInsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	for i := range 61 { // a site with IPv6 has 2^64 addresses
		_, err := d.SignIn(httptest.NewRecorder(), request("POST"),
			fmt.Sprintf("[2001:db8::%x]:1", i), fmt.Sprintf("u%d@example.com", i), strings.Repeat("x", 2000))
		want := protocol.CodeUnauthorized
		if i == 60 {
			want = protocol.CodeTooManyRequests
		}
		wantCode(t, err, want)
	}
	_, err := d.SignIn(httptest.NewRecorder(), request("POST"), "[2001:db8:0:1::1]:1", email, password)
	must(t, err)
}

func TestSuccessfulSignInsAreNotLimitedByAccount(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	for range 12 {
		d.signIn(request("POST"))
	}
}

func TestSigningInEndsTheSessionTheBrowserBrought(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	first := d.signIn(request("POST"))
	second := d.signIn(with(request("POST"), first))
	if second.Value == first.Value {
		t.Error("the session kept its token")
	}
	d.wantNoCaller(with(request("GET"), first), protocol.CodeUnauthorized)
	d.wantCaller(with(request("GET"), second))
	planted := &http.Cookie{Name: first.Name, Value: "planted-by-someone-else"}
	if got := d.signIn(with(request("POST"), planted)); got.Value == planted.Value {
		t.Error("a planted token became a session")
	}
}

func TestSigningOutEndsTheSession(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST"))
	for range 2 { // twice is no error
		w := httptest.NewRecorder()
		must(t, d.SignOut(w, with(request("POST"), cookie), address))
		if got := w.Result().Cookies(); len(got) != 1 || got[0].MaxAge >= 0 || got[0].Value != "" {
			t.Errorf("the cookie is not removed: %v", got)
		}
		d.wantNoCaller(with(request("GET"), cookie), protocol.CodeUnauthorized)
	}
	must(t, d.SignOut(httptest.NewRecorder(), request("POST"), address))
}

func TestASessionEndsAfter30Days(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST"))
	d.clock.Advance(30*24*time.Hour - time.Second)
	d.wantCaller(with(request("GET"), cookie))
	d.clock.Advance(time.Second)
	d.wantNoCaller(with(request("GET"), cookie), protocol.CodeUnauthorized)
}

func TestACookieCountsOnlyFromTheSameSite(t *testing.T) {
	t.Parallel()
	d := open(t, "https://bellhop.example.com")
	cookie := d.signIn(request("POST"))
	for _, c := range []struct {
		name, method string
		headers      []string
		code         protocol.Code
	}{
		{"the console", "POST", []string{"Sec-Fetch-Site", "same-origin"}, ""},
		{"typed by the user", "POST", []string{"Sec-Fetch-Site", "none"}, ""},
		{"no browser", "POST", nil, ""},
		{"another site", "POST", []string{"Sec-Fetch-Site", "cross-site"}, protocol.CodeForbidden},
		{"a sibling domain", "DELETE", []string{"Sec-Fetch-Site", "same-site"}, protocol.CodeForbidden},
		{"another site, old browser", "PATCH", []string{"Origin", "https://evil.example"}, protocol.CodeForbidden},
		{"a page without origin", "POST", []string{"Origin", "null"}, protocol.CodeForbidden},
		{"the same host, old browser", "POST", []string{"Origin", "https://broker.example"}, ""},
		{"the public URL behind a proxy", "POST", []string{"Origin", "https://bellhop.example.com"}, ""},
		{"reading from another site", "GET", []string{"Sec-Fetch-Site", "cross-site"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := d.Authenticate(with(request(c.method, c.headers...), cookie))
			wantCode(t, err, c.code)
		})
	}
	evil := request("POST", "Sec-Fetch-Site", "cross-site")
	_, err := d.SignIn(httptest.NewRecorder(), evil, address, email, password)
	wantCode(t, err, protocol.CodeForbidden)
	wantCode(t, d.SignOut(httptest.NewRecorder(), with(evil, cookie), address), protocol.CodeForbidden)
}

func TestASignInLinkWorksOnceFor15Minutes(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	use := func(link string) (*http.Cookie, error) {
		w := httptest.NewRecorder()
		_, err := d.SignInByLink(w, request("POST"), address, link)
		if cookies := w.Result().Cookies(); len(cookies) > 0 {
			return cookies[0], err
		}
		return nil, err
	}
	link, err := d.CreateLink(t.Context(), d.ada.ID)
	must(t, err)
	cookie, err := use(link)
	must(t, err)
	d.wantCaller(with(request("GET"), cookie))
	_, err = use(link)
	wantCode(t, err, protocol.CodeUnauthorized)
	_, err = use("unknown")
	wantCode(t, err, protocol.CodeUnauthorized)

	late, err := d.CreateLink(t.Context(), d.ada.ID)
	must(t, err)
	d.clock.Advance(15 * time.Minute)
	_, err = use(late)
	wantCode(t, err, protocol.CodeUnauthorized)
}

func TestOneOfManyUsesOfALinkWins(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	link, err := d.CreateLink(t.Context(), d.ada.ID)
	must(t, err)
	var group sync.WaitGroup
	results := make(chan error, 8)
	for range cap(results) {
		group.Go(func() {
			_, err := d.SignInByLink(httptest.NewRecorder(), request("POST"), address, link)
			results <- err
		})
	}
	group.Wait()
	close(results)
	winners := 0
	for err := range results {
		if err == nil {
			winners++
			continue
		}
		wantCode(t, err, protocol.CodeUnauthorized)
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
}

func TestAnAccountNeedsAnAddressAndAPassword(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	for _, c := range []struct {
		name, email, password string
		code                  protocol.Code
	}{
		{"taken, in another case", "ADA@example.com", password, protocol.CodeConflict},
		{"no address", "ada", password, protocol.CodeInvalid},
		{"a space", "a da@example.com", password, protocol.CodeInvalid},
		{"too long", strings.Repeat("a", 250) + "@example.com", password, protocol.CodeInvalid},
		{"short password", "b@example.com", "1234567", protocol.CodeInvalid},
		{"endless password", "b@example.com", strings.Repeat("x", 1025), protocol.CodeInvalid},
		{"common password", "b@example.com", "P4ssword!", protocol.CodeInvalid},
		{"right", "b@example.com", "just8two", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := d.CreateUser(t.Context(), c.email, c.password, false)
			wantCode(t, err, c.code)
		})
	}
	must(t, d.SetPassword(t.Context(), d.ada.ID, "another password"))
	_, err := d.SignIn(httptest.NewRecorder(), request("POST"), address, email, password)
	wantCode(t, err, protocol.CodeUnauthorized)
	_, err = d.SignIn(httptest.NewRecorder(), request("POST"), address, email, "another password")
	must(t, err)
}

func TestPasswordsAreArgon2idWithTheHouseParameters(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	eve, err := d.CreateUser(t.Context(), "eve@example.com", password, false)
	must(t, err)
	if !strings.HasPrefix(eve.PasswordHash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("got %s", eve.PasswordHash)
	}
}
