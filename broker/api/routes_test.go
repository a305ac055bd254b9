package api_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	unauthorized = `{"error":"Unauthorized","code":"unauthorized"}`
	noRoute      = `{"error":"Not found","code":"not_found"}`
	notShared    = `{"error":"This link does not work","code":"not_found","hint":"It may have expired. Ask for a new one"}`
	noMethod     = `{"error":"Method not allowed","code":"method_not_allowed"}`
)

// open lists the routes without authentication; every other route needs a caller.
var open = map[string]string{
	"GET /healthz":                   `200 {"status":"ok"}`,
	"GET /readyz":                    `200 {"status":"ready"}`,
	"GET /openapi.yaml":              "200",
	"GET /openapi.json":              "200",
	"GET /openapi":                   "200",
	"POST /api/auth/login":           `400 {"error":"The body is empty","code":"invalid","hint":"Send a JSON object"}`,
	"POST /api/auth/logout":          `200 {"success":true}`,
	"POST /api/agent/webhook":        `400 {"error":"Missing token","code":"invalid"}`,
	"GET /api/agent/stream/:taskId":  `404 {"error":"Task not found","code":"not_found"}`, // the host checks the token
	"POST /api/agent/stream/:taskId": `404 {"error":"Task not found","code":"not_found"}`,
	"GET /api/shared":                `404 ` + notShared,
	"GET /api/shared/export":         `404 ` + notShared,
	"POST /api/agent/webhook/renew":  `400 {"error":"Missing token","code":"invalid"}`,
}

// guarded lists the other routes of protocol section 1.
var guarded = []string{
	"GET /api/auth/me", "POST /api/auth/password", "GET /api/auth/sign-ins", "DELETE /api/auth/sign-ins/:signInId",
	"GET /api/auth/second-factor", "POST /api/auth/second-factor", "POST /api/auth/second-factor/confirm",
	"POST /api/auth/second-factor/recovery-codes", "POST /api/auth/second-factor/disable",
	"DELETE /api/users/:id/second-factor",
	"GET /api/users", "PATCH /api/users/:id", "DELETE /api/users/:id",
	"GET /api/users/:id/sign-ins", "DELETE /api/users/:id/sign-ins/:signInId",
	"GET /api/tokens", "POST /api/tokens", "DELETE /api/tokens/:id",
	"GET /api/forge-tokens", "POST /api/forge-tokens", "DELETE /api/forge-tokens/:id",
	"POST /api/tasks", "GET /api/tasks", "GET /api/tasks/:id", "PATCH /api/tasks/:id", "DELETE /api/tasks/:id", "GET /api/tasks/:id/only-copies",
	"GET /api/tasks/:id/messages", "GET /api/tasks/:id/events", "GET /api/events",
	"GET /api/tasks/:id/queue", "POST /api/tasks/:id/queue", "PATCH /api/tasks/:id/queue",
	"PATCH /api/tasks/:id/queue/:messageId", "DELETE /api/tasks/:id/queue/:messageId",
	"POST /api/tasks/:id/queue/:messageId/send",
	"POST /api/agent", "POST /api/agent/attach", "POST /api/agent/interrupt", "POST /api/agent/restart",
	"POST /api/agent/finish", "POST /api/agent/diff",
	"GET /api/interactions", "POST /api/interactions/:id",
	"GET /api/agents", "GET /api/workspaces", "GET /api/paths", "GET /api/doctor", "GET /metrics",
	"GET /api/tasks/:id/usage", "GET /api/tasks/:id/workspace", "GET /api/tasks/:id/paths",
	"GET /api/tasks/:id/commands", "GET /api/tasks/:id/files", "GET /api/tasks/:id/file", "GET /api/tasks/:id/search",
	"GET /api/tasks/:id/shell",
	"POST /api/tasks/:id/commit", "POST /api/tasks/:id/discard", "POST /api/tasks/:id/push",
	"POST /api/tasks/:id/pull-request",
	"POST /api/tasks/:id/fetch",
	"GET /api/tasks/:id/export", "GET /api/tasks/:id/shares", "POST /api/tasks/:id/shares",
	"GET /api/templates", "POST /api/templates", "PUT /api/templates/:id", "DELETE /api/templates/:id",
	"POST /api/templates/:id/fill", "GET /api/shares", "DELETE /api/shares/:id",
	"GET /api/announcements", "POST /api/announcements", "DELETE /api/announcements/:id",
	"GET /api/audit", "GET /api/audit/export",
	"GET /api/orphans", "POST /api/orphans/:sessionId",
	"GET /api/hosts", "POST /api/hosts", "PATCH /api/hosts/:id", "DELETE /api/hosts/:id",
	"GET /api/hosts/:id/installations", "POST /api/hosts/:id/installations",
	"DELETE /api/hosts/:id/installations/:program",
}

func TestTheRoutesAreThoseOfTheProtocol(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var got, listed []string
	for _, r := range s.echo.Routes() {
		got = append(got, r.Method+" "+r.Path)
	}
	listed = append(listed, guarded...)
	for name := range open {
		listed = append(listed, name)
	}
	slices.Sort(got)
	slices.Sort(listed)
	if !slices.Equal(got, listed) {
		t.Errorf("routes\n%s\nlisted\n%s", strings.Join(got, "\n"), strings.Join(listed, "\n"))
	}
}

func TestWithoutCredentialsEveryRouteIsUnauthorized(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range guarded {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(name, " ")
			rec := s.as(nil, method,
				strings.NewReplacer(":id", "some-id", ":signInId", "some-id", ":sessionId", "some-id", ":messageId",
					"some-id").Replace(path), "")
			want(t, rec, 401, unauthorized)
			if got := rec.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control %q", got)
			}
		})
	}
}

func TestOpenRoutesNeedNoCaller(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, answer := range open {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(name, " ")
			rec := s.as(nil, method, strings.Replace(path, ":taskId", "some-id", 1), "")
			status, body, found := strings.Cut(answer, " ")
			if !found {
				body = plain(rec.Body.String())
			}
			code, err := strconv.Atoi(status)
			must(t, err)
			want(t, rec, code, body)
		})
	}
}

func TestNoRouteRedirects(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		name, method, path string
		status             int
		body               string
	}{
		{"unknown", "GET", "/api/nonsense", 404, noRoute},
		{"unknown outside of the API", "GET", "/nonsense", 404, noRoute},
		{"the root of the API", "GET", "/api", 404, noRoute},
		{"trailing slash", "GET", "/api/tasks/", 404, noRoute},
		{"trailing slash behind an id", "GET", "/api/tasks/some-id/", 404, noRoute},
		{"trailing slash of the webhook", "POST", "/api/agent/webhook/", 404, noRoute},
		{"doubled slash", "GET", "//api/tasks", 404, noRoute},
		{"dots", "GET", "/api/../api/tasks", 404, noRoute},
		{"wrong method", "PUT", "/api/tasks", 405, noMethod},
		{"wrong method of the webhook", "GET", "/api/agent/webhook", 405, noMethod},
		{"wrong method of the check-in", "DELETE", "/api/agent", 405, noMethod},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := s.as(nil, c.method, c.path, "")
			want(t, rec, c.status, c.body)
			if location := rec.Header().Get("Location"); location != "" {
				t.Errorf("redirected to %s", location)
			}
			if allow := rec.Header().Get("Allow"); (c.status == 405) != (allow != "") {
				t.Errorf("Allow is %q", allow)
			}
		})
	}
}

func TestReadyzFailsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(t, s.db.Close())
	rec := s.as(nil, "GET", "/readyz", "")
	want(t, rec, 503, `{"error":"The database is not available","code":"unavailable"}`)
	if rec.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", rec.Header().Get("Retry-After"))
	}
	want(t, s.as(nil, "GET", "/healthz", ""), 200, `{"status":"ok"}`)
}

func TestAnswersOfTheAPIAreNotStored(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newTask("")
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/agent", `{"taskId":"` + id + `","message":"hi"}`},
		{"POST", "/api/agent/attach", `{"taskId":"` + id + `"}`},
		{"POST", "/api/tasks", `{"title":"x"}`},
	} {
		rec := s.as(s.ada, c.method, c.path, c.body)
		if rec.Code >= 300 {
			t.Errorf("%s: %d %s", c.path, rec.Code, rec.Body)
		}
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		} {
			if got := rec.Header().Get(name); got != value {
				t.Errorf("%s: %s is %q", c.path, name, got)
			}
		}
	}
}
