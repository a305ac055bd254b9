package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bellhop/broker"
	"bellhop/broker/auth"
	"bellhop/protocol"
)

// scoped returns a person who has only a token with the scopes.
func (s *site) scoped(user *person, scopes ...broker.Scope) *person {
	s.t.Helper()
	token, err := s.auth.CreateToken(s.t.Context(), &broker.APIToken{UserID: user.id, Name: "scoped", Scopes: scopes})
	must(s.t, err)
	return &person{user.id, user.email, token}
}

// signedIn returns the header of a session.
func (s *site) signedIn(user *person) []string {
	s.t.Helper()
	login := fmt.Sprintf(`{"email":%q,"password":%q}`, user.email, password)
	return []string{"Cookie", cookieOf(s.t, s.as(nil, "POST", "/api/auth/login", login))}
}

func TestATokenReachesOnlyTheRoutesOfItsScopes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	withScope := map[broker.Scope]*person{}
	for _, scope := range broker.AllScopes() {
		withScope[scope] = s.scoped(s.admin, scope)
	}
	everything := s.scoped(s.admin, broker.AllScopes()...)
	path := strings.NewReplacer(":id", "some-id", ":signInId", "some-id", ":sessionId", "some-id", ":messageId", "some-id")
	for _, route := range guarded {
		needs := auth.ScopeOfRoute(route)
		if needs == "" {
			t.Errorf("%s has no scope", route)
			continue
		}
		method, target, _ := strings.Cut(route, " ")
		target = path.Replace(target)
		if needs == "none" {
			want(t, s.as(everything, method, target, ""), 403,
				`{"error":"An API token cannot be used here","code":"forbidden","hint":"Sign in to the console"}`)
			continue
		}
		for scope, who := range withScope {
			has := needs == "any" || needs == scope || needs == broker.ScopeTasksRead && scope == broker.ScopeTasksWrite
			// The feed would not end, and the doctor is absent.
			if has && (route == "GET /api/events" || route == "GET /api/doctor") {
				continue
			}
			rec := s.as(who, method, target, "")
			if refused := rec.Code == 403 &&
				strings.Contains(rec.Body.String(), "lacks the scope "+string(needs)); refused == has {
				t.Errorf("%s with %s: %d %s", route, scope, rec.Code, rec.Body)
			}
		}
	}
}

func TestATokenIsAnAdministratorOnlyInItsScope(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	private := `{"title":"x","agentUrl":"http://10.0.0.1:1","agentPassword":"p"}`
	if rec := s.as(s.scoped(s.admin, broker.ScopeTasksWrite, broker.ScopeAdmin), "POST", "/api/tasks",
		private); rec.Code != 201 {
		t.Errorf("an administrator's token: %d %s", rec.Code, rec.Body)
	}
	if rec := s.as(s.scoped(s.admin, broker.ScopeTasksWrite), "POST", "/api/tasks", private); rec.Code != 400 {
		t.Errorf("without the scope admin: %d %s", rec.Code, rec.Body)
	}
	host := `{"name":"build","url":"http://127.0.0.1:1","password":"p"}`
	want(t, s.as(s.scoped(s.admin, broker.ScopeHosts), "GET", "/api/users", ""), 403,
		`{"error":"This API token lacks the scope admin","code":"forbidden",`+
			`"hint":"Create a token with this scope on the tokens page, or with bellhop tokens create"}`)
	if rec := s.as(s.scoped(s.admin, broker.ScopeHosts), "POST", "/api/hosts", host); rec.Code != 201 {
		t.Errorf("hosts: %d %s", rec.Code, rec.Body)
	}
	if rec := s.as(s.scoped(s.ada, broker.ScopeHosts, broker.ScopeAdmin), "POST", "/api/hosts", host); rec.Code != 403 {
		t.Errorf("a user who is no administrator: %d %s", rec.Code, rec.Body)
	}
}

func TestATokenWithoutScopesIsGoodForNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(t, s.db.Write(t.Context(), func(ctx context.Context) error {
		return s.db.Conn(ctx).Exec(`UPDATE api_tokens SET scopes = '[]'`).Error
	}))
	for _, path := range []string{"/api/tasks", "/api/hosts", "/api/users", "/api/audit"} {
		if rec := s.as(s.admin, "GET", path, ""); rec.Code != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

func TestATokenIsMadeBySessionsWithScopesAndAnExpiry(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	session := s.signedIn(s.ada)
	for body, answer := range map[string]string{
		`{"name":"x"}`: `{"error":"scopes is required","code":"invalid","hint":"Name what the program does, such as tasks:read"}`,
		`{"name":"x","scopes":["tasks:read","everything"]}`: `{"error":"scopes has an unknown entry","code":"invalid",` +
			`"hint":"Known are tasks:read, tasks:write, notebooks, hosts, webhooks, admin"}`,
		`{"name":"x","scopes":["admin","admin"]}`: `{"error":"scopes has admin twice","code":"invalid"}`,
		`{"name":"x","kind":"agent","agentIdentifier":"a","scopes":["hosts"]}`: `{"error":"A token of kind agent has the scope notebooks only",` +
			`"code":"invalid","hint":"Leave scopes out"}`,
	} {
		want(t, s.as(nil, "POST", "/api/tokens", body, session...), 400, answer)
	}
	for _, body := range []string{`{"name":"x","scopes":"admin"}`, `{"name":"x","scopes":[1]}`} {
		if rec := s.as(nil, "POST", "/api/tokens", body, session...); rec.Code != 400 {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
	rec := s.as(nil, "POST", "/api/tokens", `{"name":"x","scopes":["hosts","tasks:write"]}`, session...)
	if rec.Code != 201 || !strings.Contains(rec.Body.String(), `"scopes":["hosts","tasks:write"]`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	page := s.audit("?action=token&limit=1")
	if got := page.Entries[0]; got.Action != protocol.AuditTokenCreated || got.Detail["scopes"] != "hosts tasks:write" {
		t.Errorf("%+v", got)
	}
	rec = s.as(nil, "POST", "/api/tokens", `{"name":"x","kind":"agent","agentIdentifier":"a"}`, session...)
	agent := &person{token: field(t, rec, "token")}
	want(t, s.as(agent, "GET", "/api/tasks", ""), 403,
		`{"error":"This token reaches only notebooks and /mcp","code":"forbidden","hint":"Use a token of kind user here"}`)
	if listed := s.as(nil, "GET", "/api/tokens", "", session...).Body.String(); strings.Contains(listed, "bhp_") ||
		!strings.Contains(listed, `"scopes":["notebooks"]`) {
		t.Error(listed)
	}
}

func TestQuotasAreAnsweredWithAReason(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	quotas := &broker.Quotas{Limits: broker.QuotaLimits{Tasks: 1, Feeds: 1}, Store: s.api.Tasks.Store.(broker.QuotaStore)}
	s.api.Tasks.Quotas, s.api.Quotas = quotas, quotas
	s.newTask("")
	want(t, s.as(s.ada, "POST", "/api/tasks", `{"title":"x"}`), 403,
		`{"error":"You have 1 tasks, and may have 1","code":"quota_exceeded",`+
			`"hint":"Delete tasks that you do not need any more; archived ones count too"}`)
	leave, err := quotas.OpenFeed(s.ada.id)
	must(t, err)
	rec := s.as(s.ada, "GET", "/api/events", "")
	want(t, rec, 429, `{"error":"You have 1 open feeds, and may have no more","code":"too_many_requests",`+
		`"hint":"Close other pages and programs that follow your tasks"}`)
	if got := rec.Header().Get("Retry-After"); got != "10" {
		t.Errorf("Retry-After %q", got)
	}
	leave()
}
