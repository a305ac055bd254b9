package api_test

import (
	"strings"
	"testing"
)

func TestOnlyTheirUserSeesWorkspaces(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.owner = s.ada.id
	created := s.as(s.admin, "POST", "/api/hosts", `{"name":"one","url":"`+agentURL+`","password":"`+agentPassword+`"}`)
	host := field(t, created, "id")
	const hers = `{"name":"fix","project":"shop","branch":"bellhop/fix","dirty":false,"unpushed":0,"metadata":{},"createdAt":"+0s","createdBy":"s1"}`
	want(t, s.as(s.ada, "GET", "/api/workspaces", ""), 200,
		`{"hosts":[{"hostId":"<id1>","name":"one","workspaces":[`+hers+`]}]}`)
	want(t, s.as(s.bob, "GET", "/api/workspaces", ""), 200, `{"hosts":[{"hostId":"<id1>","name":"one","workspaces":[]}]}`)
	for _, c := range []struct {
		name, body string
		caller     *person
		want       int
		code       string
	}{
		{"another user's", `{"title":"T","workspace":"fix"}`, s.bob, 404, "not_found"},
		{"a number", `{"title":"T","workspace":7}`, s.ada, 400, "invalid"},
		{"too long", `{"title":"T","workspace":"` + strings.Repeat("x", 65) + `"}`, s.ada, 400, "invalid"},
	} {
		rec := s.as(c.caller, "POST", "/api/tasks", c.body)
		if rec.Code != c.want || !strings.Contains(rec.Body.String(), `"code":"`+c.code+`"`) {
			t.Errorf("%s: %d %s", c.name, rec.Code, rec.Body)
		}
	}
	rec := s.as(s.ada, "POST", "/api/tasks", `{"title":"T","workspace":"fix"}`)
	if body := rec.Body.String(); rec.Code != 201 || !strings.Contains(body, `"workspace":"fix"`) ||
		!strings.Contains(body, host) {
		t.Fatalf("%d %s", rec.Code, body)
	}
	rec = s.as(s.ada, "PATCH", "/api/tasks/"+field(t, rec, "id"), `{"project":"blog"}`)
	if rec.Code != 400 || !strings.Contains(rec.Body.String(), "works in the workspace") {
		t.Errorf("another project: %d %s", rec.Code, rec.Body)
	}
}

func TestOnlyItsUserSeesTheWorkspaceOfATask(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id, _ := s.checkedIn()
	path := "/api/tasks/" + id + "/workspace"
	want(t, s.as(s.ada, "GET", path, ""), 200, `{"workspace":null}`)
	want(t, s.as(s.bob, "GET", path, ""), 404, `{"error":"Task not found","code":"not_found"}`)
	want(t, s.as(nil, "GET", path, ""), 401, `{"error":"Unauthorized","code":"unauthorized"}`)
}

func TestOnlyItsUserSeesTheUsageOfATask(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id, _ := s.checkedIn()
	path := "/api/tasks/" + id + "/usage"
	want(t, s.as(s.ada, "GET", path, ""), 200, `{"turns":0,"unreported":0,"usage":{}}`)
	want(t, s.as(s.bob, "GET", path, ""), 404, `{"error":"Task not found","code":"not_found"}`)
	want(t, s.as(nil, "GET", path, ""), 401, `{"error":"Unauthorized","code":"unauthorized"}`)
}
