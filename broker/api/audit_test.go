package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestTheAuditLogNamesWhoDidWhat(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rec := s.as(nil, "POST", "/api/tokens", `{"name":"laptop","scopes":["hosts"]}`, s.signedIn(s.ada)...)
	var made struct{ ID string }
	must(t, json.Unmarshal(rec.Body.Bytes(), &made))
	page := s.audit("?action=token&limit=1&actor=ADA@example.com")
	if len(page.Entries) != 1 || page.NextCursor != "" {
		t.Fatalf("%+v", page)
	}
	e := page.Entries[0]
	if e.Action != protocol.AuditTokenCreated || e.Actor.Kind != protocol.AuditByUser || e.Actor.ID != s.ada.id ||
		e.Actor.Email != s.ada.email || e.Actor.TokenID != "" ||
		e.Actor.Address != "192.0.2.1" || e.Subject.ID != made.ID || e.Subject.Name != "laptop" {
		t.Errorf("%+v", e)
	}
	want(t, s.as(s.admin, "GET", "/api/audit?cursor=x", ""), 400, `{"error":"cursor is not one of ours","code":"invalid"}`)
	for _, path := range []string{"/api/audit", "/api/audit/export"} {
		want(t, s.as(s.ada, "GET", path, ""), 403, `{"error":"Only administrators read the audit log","code":"forbidden"}`)
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			want(t, s.as(s.admin, method, path, "{}"), 405, noMethod)
		}
	}
}

func (s *site) audit(query string) *protocol.AuditList {
	s.t.Helper()
	rec := s.as(s.admin, "GET", "/api/audit"+query, "")
	if rec.Code != 200 {
		s.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	page := &protocol.AuditList{}
	must(s.t, json.Unmarshal(rec.Body.Bytes(), page))
	return page
}

func TestAnExportIsJSONLines(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"eve", "grace"} {
		_, err := s.auth.CreateUser(t.Context(), name+"@example.com", password, false)
		must(t, err)
	}
	rec := s.as(s.admin, "GET", "/api/audit/export?action=user", "")
	if got := rec.Header().Get("Content-Type"); rec.Code != 200 || got != "application/x-ndjson" ||
		rec.Header().Get("Content-Disposition") != `attachment; filename="bellhop-audit.jsonl"` ||
		rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	lines := bufio.NewScanner(rec.Body)
	var names []string
	for lines.Scan() {
		var e protocol.AuditEntry
		must(t, json.Unmarshal(lines.Bytes(), &e))
		names = append(names, e.Subject.Name)
	}
	if got := strings.Join(names, " "); got != "eve@example.com grace@example.com" {
		t.Errorf("got %s", got)
	}
	rec = s.as(s.admin, "GET", "/api/audit/export?subject=none", "")
	if rec.Code != 200 || rec.Body.Len() != 0 || rec.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("without entries: %d %q", rec.Code, rec.Body)
	}
	want(t, s.as(s.admin, "GET", "/api/audit/export?action=none", ""), 400,
		`{"error":"action names no act of the audit log","code":"invalid",`+
			`"hint":"Use one of sign-in, sign-in.failed, sign-in.link, sign-in.ended, sign-in.password, `+
			`sign-out, token.created, token.revoked, user.created, user.password, user.disabled, `+
			`user.enabled, user.deleted, user.erased, second-factor.enabled, second-factor.disabled, second-factor.reset, `+
			`second-factor.codes, host.created, host.changed, host.removed, host.reconciled, `+
			`host.installed, host.cancelled, task.adopted, task.answered, task.mode, task.committed, task.discarded, `+
			`task.fetched, task.pushed, task.requested, `+
			`task.expired, task.terminal-opened, task.terminal-closed, share.created, share.revoked, forge-token.added, forge-token.removed, webhook.rotated, `+
			`notifications.on, notifications.off, keys.rotated, audit.exported, data.exported, data.imported, `+
			`or the part before a point"}`)
	if got := len(s.audit("?action=audit.exported").Entries); got != 2 {
		t.Errorf("%d exports", got)
	}
}

// A reader must not take the beginning of an export for the whole.
func TestAnExportThatFailsIsCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 600 {
		s.as(nil, "POST", "/api/auth/login", `{"link":"unknown"}`)
		s.clock.Advance(3e9)
	}
	must(t, s.db.Write(t.Context(), func(ctx context.Context) error { // the second page cannot be read
		return s.db.Conn(ctx).Exec(`INSERT INTO audit_log
			SELECT max(no) + 1, max(at), 'sign-in', '', '', '', '', '', '', '', '', '{' FROM audit_log`).Error
	}))
	server := httptest.NewServer(s.echo)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/audit/export", http.NoBody)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+s.admin.token)
	resp, err := server.Client().Do(r)
	must(t, err)
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || err == nil {
		t.Errorf("%d, %v", resp.StatusCode, err)
	}
}
