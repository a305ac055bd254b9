package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/auth"
	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/crypto/totp"
	"bellhop/protocol"
)

// codeFor returns what an app shows.
func codeFor(t *testing.T, secret seal.Secret, now time.Time) string {
	t.Helper()
	code, err := totp.Code(secret, now)
	must(t, err)
	return code
}

// own is the context of a request of ada's session.
func (d *desk) own() context.Context {
	d.t.Helper()
	var ctx context.Context
	_, err := d.visit(with(request("GET"), d.mine), func(c context.Context) { ctx = c })
	must(d.t, err)
	return ctx
}

// enrol turns on ada's second factor, and waits until its first code is old.
func (d *desk) enrol() (secret seal.Secret, recovery []string) {
	d.t.Helper()
	d.mine = d.signIn(request("POST"))
	made, err := d.BeginSecondFactor(d.own(), password)
	must(d.t, err)
	uri := made.URI.Reveal()
	if !strings.Contains(uri, "secret="+made.Secret.Reveal()) || !strings.Contains(uri, "ada%40example.com") {
		d.t.Errorf("%s", uri)
	}
	recovery, err = d.ConfirmSecondFactor(d.own(), codeFor(d.t, made.Secret, d.clock.Now()))
	must(d.t, err)
	d.clock.Advance(time.Minute)
	return made.Secret, recovery
}

func (d *desk) signInWith(password, code string) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, err := d.SignInWithCode(w, request("POST"), address, email, password, code)
	return w.Result(), err
}

func TestAPasswordAloneDoesNotSignIn(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	secret, recovery := d.enrol()
	code := codeFor(t, secret, d.clock.Now())
	for _, c := range []struct {
		name, password, code string
		want                 protocol.Code
	}{
		{"a wrong password does not tell that there is a second factor", "guessed", "", protocol.CodeUnauthorized},
		{"a wrong password with the right code", "guessed", code, protocol.CodeUnauthorized},
		{"the password alone", password, "", protocol.CodeSecondFactor},
		{"a wrong code", password, "000000x", protocol.CodeSecondFactor},
		{"the code of another minute", password, codeFor(t, secret, d.clock.Now().Add(time.Hour)), protocol.CodeSecondFactor},
		{"the right code, as people type it", password, " " + code[:3] + " " + code[3:], ""},
		{"the same code again", password, code, protocol.CodeSecondFactor},
		{"a recovery code, as people type it", password, strings.ToUpper(recovery[0]), ""},
		{"the same recovery code again", password, recovery[0], protocol.CodeSecondFactor},
		{"a recovery code without hyphens", password, strings.ReplaceAll(recovery[1], "-", ""), ""},
	} {
		w, err := d.signInWith(c.password, c.code)
		if protocol.CodeOf(err) != c.want || (len(w.Cookies()) == 1) != (c.want == "") {
			t.Errorf("%s: %v, %d cookies", c.name, err, len(w.Cookies()))
		}
		if c.want == "" {
			d.wantCaller(with(request("GET"), w.Cookies()...))
		}
		d.clock.Advance(time.Second)
	}
	f, err := d.SecondFactor(d.own())
	must(t, err)
	if f.RecoveryCodes != 8 || f.ConfirmedAt == nil {
		t.Errorf("%+v", f)
	}
	if all := strings.Join(d.audit(), "\n"); strings.Contains(all, code) || strings.Contains(all, recovery[0]) ||
		strings.Contains(all, secret.Reveal()) {
		t.Error("a secret is in the audit log")
	}
	const by = ` by visitor  "192.0.2.1:4711" on user ada "ada@example.com" `
	const signedIn = `sign-in by user ada "192.0.2.1:4711" on user ada "ada@example.com" `
	d.wantAudit(signedIn+`null`,
		`second-factor.enabled by user ada "192.0.2.1" on user ada "ada@example.com" null`,
		`sign-in.failed`+by+`null`, `sign-in.failed`+by+`null`, `sign-in.password`+by+`null`,
		`sign-in.failed`+by+`{"factor":"code"}`, `sign-in.failed`+by+`{"factor":"code"}`,
		signedIn+`{"factor":"totp"}`, `sign-in.failed`+by+`{"factor":"code"}`,
		signedIn+`{"factor":"recovery-code"}`, `sign-in.failed`+by+`{"factor":"code"}`, signedIn+`{"factor":"recovery-code"}`)
}

// parallelReaders lets readers of a second factor continue only when all have read it.
type parallelReaders struct {
	*store.Store
	readers sync.WaitGroup
}

func (s *parallelReaders) SecondFactor(ctx context.Context, userID string) (*broker.SecondFactor, error) {
	f, err := s.Store.SecondFactor(ctx, userID)
	s.readers.Done()
	s.readers.Wait()
	return f, err
}

// Each of them finds the code right and unused.
func TestACodeSignsInOnceAlsoAtTheSameTime(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	secret, recovery := d.enrol()
	factors := &parallelReaders{Store: d.store}
	d.Service = auth.New(auth.Options{Store: factors, Now: d.clock.Now})
	const callers = 4
	factors.readers.Add(callers)
	for _, code := range []string{codeFor(t, secret, d.clock.Now()), recovery[3]} {
		var signedIn atomic.Int64
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				if _, err := d.signInWith(password, code); err == nil {
					signedIn.Add(1)
				} else if protocol.CodeOf(err) != protocol.CodeSecondFactor {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if signedIn.Load() != 1 {
			t.Errorf("%d sign-ins", signedIn.Load())
		}
	}
}

func TestASecretCountsOnceACodeConfirmsIt(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	d.mine = d.signIn(request("POST"))
	_, err := d.ConfirmSecondFactor(d.own(), "123456")
	wantCode(t, err, protocol.CodeConflict)
	_, err = d.BeginSecondFactor(d.own(), "guessed")
	wantCode(t, err, protocol.CodeForbidden)
	old, err := d.BeginSecondFactor(d.own(), password)
	must(t, err)
	d.clock.Advance(time.Second)
	made, err := d.BeginSecondFactor(d.own(), password)
	must(t, err)
	_, err = d.ConfirmSecondFactor(d.own(), codeFor(t, old.Secret, d.clock.Now()))
	wantCode(t, err, protocol.CodeForbidden)
	_, err = d.SecondFactor(d.own())
	wantCode(t, err, protocol.CodeNotFound)
	d.signIn(request("POST")) // it does not count yet

	d.clock.Advance(time.Hour + time.Second)
	_, err = d.ConfirmSecondFactor(d.own(), codeFor(t, made.Secret, d.clock.Now()))
	wantCode(t, err, protocol.CodeConflict)
	made, err = d.BeginSecondFactor(d.own(), password)
	must(t, err)
	code := codeFor(t, made.Secret, d.clock.Now())
	recovery, err := d.ConfirmSecondFactor(d.own(), code)
	must(t, err)
	if len(recovery) != 10 || len(recovery[0]) != len("abcd-efgh-ijkl-mnop") || recovery[0] == recovery[1] {
		t.Errorf("%d codes like %s", len(recovery), recovery[0])
	}
	_, err = d.signInWith(password, code) // used by the confirmation
	wantCode(t, err, protocol.CodeSecondFactor)
	_, err = d.BeginSecondFactor(d.own(), password)
	wantCode(t, err, protocol.CodeConflict)
	_, err = d.ConfirmSecondFactor(d.own(), code)
	wantCode(t, err, protocol.CodeConflict)
}

func TestTurningOffNeedsPasswordAndCode(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	secret, recovery := d.enrol()
	code := codeFor(t, secret, d.clock.Now())
	for _, wrong := range [][2]string{{"guessed", code}, {password, ""}, {password, "000000"}, {password, "abcd-efgh"}} {
		wantCode(t, d.DisableSecondFactor(d.own(), wrong[0], wrong[1]), protocol.CodeForbidden)
		_, err := d.RenewRecoveryCodes(d.own(), wrong[0], wrong[1])
		wantCode(t, err, protocol.CodeForbidden)
		d.clock.Advance(20 * time.Minute) // the limits of attempts
	}
	fresh, err := d.RenewRecoveryCodes(d.own(), password, codeFor(t, secret, d.clock.Now()))
	must(t, err)
	_, err = d.signInWith(password, recovery[5])
	wantCode(t, err, protocol.CodeSecondFactor)
	token := broker.WithActor(d.own(), protocol.AuditActor{Kind: protocol.AuditByUser, ID: d.ada.ID, TokenID: "t"})
	wantCode(t, d.DisableSecondFactor(token, password, fresh[0]), protocol.CodeForbidden)
	must(t, d.DisableSecondFactor(d.own(), password, fresh[0]))
	wantCode(t, d.DisableSecondFactor(d.own(), password, fresh[1]), protocol.CodeNotFound)
	d.signIn(request("POST"))
	var acts []string
	for _, line := range d.audit() {
		if act := strings.Fields(line)[0]; strings.HasPrefix(act, "second-factor.") {
			acts = append(acts, act)
		}
	}
	if got := strings.Join(acts, " "); got != "second-factor.enabled second-factor.codes second-factor.disabled" {
		t.Error(got)
	}
}

func TestAnAdministratorResetsALostSecondFactor(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	d.enrol()
	operator := broker.Caller{Admin: true}
	wantCode(t, d.ResetSecondFactor(d.own(), broker.Caller{UserID: "eve"}, d.ada.ID), protocol.CodeForbidden)
	self := broker.Caller{UserID: d.ada.ID, Admin: true}
	wantCode(t, d.ResetSecondFactor(d.own(), self, d.ada.ID), protocol.CodeForbidden)
	wantCode(t, d.ResetSecondFactor(d.own(), admin, "unknown"), protocol.CodeNotFound)
	_, err := d.signInWith(password, "")
	wantCode(t, err, protocol.CodeSecondFactor)
	must(t, d.ResetSecondFactor(t.Context(), admin, d.ada.ID))
	wantCode(t, d.ResetSecondFactor(t.Context(), operator, d.ada.ID), protocol.CodeNotFound)
	d.signIn(request("POST"))
	const reset = `second-factor.reset by broker  "" on user ada "ada@example.com" null`
	if got := d.audit(); len(got) != 5 || got[3] != reset {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// Codes are limited by account: who knows the password may have many addresses. The owner has recovery codes.
func TestCodesAreLimitedFromAllAddresses(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	secret, recovery := d.enrol()
	from := func(host, code string) error {
		_, err := d.SignInWithCode(httptest.NewRecorder(), request("POST"), host, email, password, code)
		return err
	}
	for i := range 10 {
		wantCode(t, from("198.51.100."+string(rune('0'+i)), "000000"), protocol.CodeSecondFactor)
	}
	for range 2 {
		wantCode(t, from("203.0.113.1", codeFor(t, secret, d.clock.Now())), protocol.CodeTooManyRequests)
	}
	wantCode(t, from("203.0.113.2", "wrong-recovery-code"), protocol.CodeSecondFactor)
	must(t, from("203.0.113.2", recovery[0]))
	must(t, from("203.0.113.3", codeFor(t, secret, d.clock.Now()))) // the recovery code proved who it is
}

// The right password resets the limit of attempts only with the right code.
func TestAttemptsAreResetByTheCode(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	secret, _ := d.enrol()
	for range 9 {
		_, err := d.signInWith(password, "")
		wantCode(t, err, protocol.CodeSecondFactor)
	}
	_, err := d.signInWith(password, codeFor(t, secret, d.clock.Now()))
	must(t, err)
	for range 10 {
		_, err := d.signInWith(password, "")
		wantCode(t, err, protocol.CodeSecondFactor)
	}
	_, err = d.signInWith(password, "")
	wantCode(t, err, protocol.CodeTooManyRequests)
}

func TestDisabledAndDeletedUsersWithASecondFactor(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	secret, recovery := d.enrol()
	_, err := d.SetDisabled(t.Context(), admin, d.ada.ID, true)
	must(t, err)
	_, err = d.signInWith(password, codeFor(t, secret, d.clock.Now()))
	wantCode(t, err, protocol.CodeForbidden)
	_, err = d.SetDisabled(t.Context(), admin, d.ada.ID, false)
	must(t, err)
	_, err = d.signInWith(password, "")
	wantCode(t, err, protocol.CodeSecondFactor)
	_, err = d.signInWith(password, recovery[0])
	must(t, err)
	link, err := d.CreateLink(t.Context(), d.ada.ID)
	must(t, err)
	_, err = d.SignInByLink(httptest.NewRecorder(), request("POST"), address, link) // made by the operator
	must(t, err)
	must(t, d.DeleteUser(t.Context(), admin, d.ada.ID))
	_, err = d.store.SecondFactor(t.Context(), d.ada.ID)
	wantCode(t, err, protocol.CodeNotFound)
}

// A sign-in that is not stored uses no code.
func TestACodeOfAFailedSignInStaysUsable(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	_, recovery := d.enrol()
	d.exec(`ALTER TABLE audit_log RENAME TO gone`)
	if _, err := d.signInWith(password, recovery[0]); err == nil {
		t.Error("a sign-in without an entry")
	}
	d.exec(`ALTER TABLE gone RENAME TO audit_log`)
	_, err := d.signInWith(password, recovery[0])
	must(t, err)
}
