package auth_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/protocol"
)

// audit returns the audit log as lines "action actor address subject detail", the oldest first,
// with the user's id written as ada.
func (d *desk) audit() []string {
	d.t.Helper()
	entries, err := d.store.AuditEntries(d.t.Context(), broker.AuditFilter{Limit: 100})
	must(d.t, err)
	lines := make([]string, len(entries))
	for i := range entries {
		e := &entries[i]
		detail, err := json.Marshal(e.Detail)
		must(d.t, err)
		line := fmt.Sprintf("%s by %s %s %q on %s %s %q %s",
			e.Action, e.Actor.Kind, e.Actor.ID, e.Actor.Address, e.Subject.Kind, e.Subject.ID, e.Subject.Name, detail)
		lines[i] = strings.ReplaceAll(line, d.ada.ID, "ada")
	}
	return lines
}

func (d *desk) wantAudit(want ...string) {
	d.t.Helper()
	got := d.audit()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		d.t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSignInsAndSignOutsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST"))
	for _, wrong := range []struct{ email, password string }{
		{email, "guessed"}, {password, "typed into the wrong field"},
	} {
		_, err := d.SignIn(httptest.NewRecorder(), request("POST"), address, wrong.email, wrong.password)
		wantCode(t, err, protocol.CodeUnauthorized)
	}
	_, err := d.SignInByLink(httptest.NewRecorder(), request("POST"), address, "unknown")
	wantCode(t, err, protocol.CodeUnauthorized)
	for range 2 { // a second sign-out ends nothing
		must(t, d.SignOut(httptest.NewRecorder(), with(request("POST"), cookie), address))
	}
	link, err := d.CreateLink(t.Context(), d.ada.ID)
	must(t, err)
	_, err = d.SignInByLink(httptest.NewRecorder(), request("POST"), address, link)
	must(t, err)
	d.wantAudit(
		`sign-in by user ada "192.0.2.1:4711" on user ada "ada@example.com" null`,
		`sign-in.failed by visitor  "192.0.2.1:4711" on user ada "ada@example.com" null`,
		`sign-in.failed by visitor  "192.0.2.1:4711" on user  "" null`,
		`sign-in.failed by visitor  "192.0.2.1:4711" on user  "" null`,
		`sign-out by user ada "192.0.2.1:4711" on user ada "ada@example.com" null`,
		`sign-in.link by broker  "" on user ada "ada@example.com" null`,
		`sign-in by user ada "192.0.2.1:4711" on user ada "ada@example.com" null`,
	)
	for _, line := range d.audit() {
		if strings.Contains(line, password) || strings.Contains(line, link) {
			t.Errorf("a secret in %s", line)
		}
	}
}

func TestUsersTokensAndPasswordsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	eve, err := d.CreateUser(t.Context(), " Eve@Example.com ", password, false)
	must(t, err)
	plain, made := d.token("laptop", 0)
	bound := &broker.APIToken{UserID: d.ada.ID, Name: "editor", Kind: broker.TokenAgent, AgentIdentifier: "claude-code"}
	_, err = d.CreateToken(t.Context(), bound)
	must(t, err)
	must(t, d.DeleteToken(t.Context(), d.ada.ID, made.ID))
	wantCode(t, d.DeleteToken(t.Context(), d.ada.ID, made.ID), protocol.CodeNotFound)
	must(t, d.SetPassword(t.Context(), d.ada.ID, "another horse battery"))
	const all = "tasks:read tasks:write notebooks hosts webhooks admin"
	d.wantAudit(
		`user.created by broker  "" on user `+eve.ID+` "eve@example.com" {"admin":"false"}`,
		`token.created by broker  "" on token `+made.ID+` "laptop" {"kind":"user","owner":"ada","scopes":"`+all+`"}`,
		`token.created by broker  "" on token `+bound.ID+
			` "editor" {"agent":"claude-code","kind":"agent","owner":"ada","scopes":"notebooks"}`,
		`token.revoked by broker  "" on token `+made.ID+` "laptop" {"kind":"user","owner":"ada","scopes":"`+all+`"}`,
		`user.password by broker  "" on user ada "ada@example.com" null`,
	)
	if all := strings.Join(d.audit(), ""); strings.Contains(all, plain) || strings.Contains(all, "battery") {
		t.Error("a secret is in the log")
	}
}

// An act whose entry cannot be stored does not happen.
func TestNoActWithoutItsEntry(t *testing.T) {
	t.Parallel()
	d := open(t, "")
	cookie := d.signIn(request("POST"))
	_, made := d.token("laptop", 0)
	d.exec(`DROP TABLE audit_log`)
	if _, err := d.SignIn(httptest.NewRecorder(), request("POST"), address, email, password); err == nil {
		t.Error("a sign-in without an entry")
	}
	_, err := d.SignIn(httptest.NewRecorder(), request("POST"), address, email, "wrong")
	if protocol.CodeOf(err) == protocol.CodeUnauthorized {
		t.Error("a failed sign-in without an entry is answered as if it had one")
	}
	if err := d.SignOut(httptest.NewRecorder(), with(request("POST"), cookie), address); err == nil {
		t.Error("a sign-out without an entry")
	}
	d.wantCaller(with(request("GET"), cookie))
	if err := d.DeleteToken(t.Context(), d.ada.ID, made.ID); err == nil {
		t.Error("a token was revoked without an entry")
	}
	if _, err := d.CreateUser(t.Context(), "eve@example.com", password, true); err == nil {
		t.Error("a user was created without an entry")
	}
	_, err = d.store.UserByEmail(t.Context(), "eve@example.com")
	wantCode(t, err, protocol.CodeNotFound)
	if list, err := d.ListTokens(t.Context(), d.ada.ID); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	var logins int
	d.query(`SELECT count(*) FROM logins`, &logins)
	if logins != 1 {
		t.Errorf("%d sessions", logins)
	}
}
