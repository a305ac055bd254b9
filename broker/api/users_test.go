package api_test

import (
	"io"
	"strings"
	"testing"
)

func TestAdministratorsManageUsers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const ada = `{"id":"<id1>","email":"ada@example.com","admin":false,"createdAt":"+0s","disabledAt":null,"secondFactor":false}`
	want(t, s.as(s.admin, "GET", "/api/users?limit=1", ""), 200, `{"users":[`+ada+`],"nextCursor":"ada@example.com"}`)
	list := s.as(s.admin, "GET", "/api/users?cursor=ada@example.com", "")
	if got := strings.Count(list.Body.String(), `"email"`); list.Code != 200 || got != 2 ||
		strings.Contains(list.Body.String(), "nextCursor") {
		t.Errorf("%d %s", list.Code, list.Body)
	}
	const forbidden = `{"error":"Only administrators manage users","code":"forbidden"}`
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/api/users", ""},
		{"PATCH", "/api/users/" + s.bob.id, `{"disabled":true}`},
		{"DELETE", "/api/users/" + s.bob.id, ""},
		{"GET", "/api/users/" + s.bob.id + "/sign-ins", ""},
		{"DELETE", "/api/users/" + s.bob.id + "/sign-ins/x", ""},
	} {
		want(t, s.as(s.ada, c.method, c.path, c.body), 403, forbidden)
	}
	path := "/api/users/" + s.ada.id
	want(t, s.as(s.admin, "PATCH", path, `{}`), 400, `{"error":"disabled is required","code":"invalid"}`)
	want(t, s.as(s.admin, "PATCH", "/api/users/unknown", `{"disabled":true}`), 404,
		`{"error":"User not found","code":"not_found"}`)
	want(t, s.as(s.admin, "PATCH", "/api/users/"+s.admin.id, `{"disabled":true}`), 409,
		`{"error":"This is the last administrator who can sign in","code":"conflict",`+
			`"hint":"Make another administrator first: bellhop users add --admin"}`)

	_, feed := openFeed(t, s, "/api/events", s.ada)
	want(t, s.as(s.admin, "PATCH", path, `{"disabled":true}`), 200, strings.Replace(ada, "null", `"+0s"`, 1))
	if _, err := io.Copy(io.Discard, feed); err != nil { // the feed ends
		t.Logf("cut: %v", err)
	}
	want(t, s.as(s.ada, "GET", "/api/auth/me", ""), 401, unauthorized)
	const login = `{"email":"ada@example.com","password":"` + password + `"}`
	want(t, s.as(nil, "POST", "/api/auth/login", login), 403,
		`{"error":"This account is disabled","code":"forbidden","hint":"Ask an administrator to enable it"}`)
	want(t, s.as(s.admin, "PATCH", path, `{"disabled":false}`), 200, ada)
	cookie := cookieOf(t, s.as(nil, "POST", "/api/auth/login", login))
	want(t, s.as(s.admin, "DELETE", path, ""), 200, `{"success":true}`)
	want(t, s.as(nil, "GET", "/api/auth/me", "", "Cookie", cookie), 401, unauthorized)
	want(t, s.as(s.admin, "DELETE", path, ""), 404, `{"error":"User not found","code":"not_found"}`)
	if page := s.audit("?action=user.deleted"); len(page.Entries) != 1 || page.Entries[0].Actor.ID != s.admin.id ||
		page.Entries[0].Subject.ID != s.ada.id {
		t.Errorf("%+v", page)
	}
}

func TestAUserSeesAndEndsTheirSignIns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const login = `{"email":"ada@example.com","password":"` + password + `"}`
	signIn := func(browser string) string {
		return cookieOf(t, s.as(nil, "POST", "/api/auth/login", login, "User-Agent", browser))
	}
	first, second := signIn("Firefox"), signIn("Chrome")
	list := s.as(nil, "GET", "/api/auth/sign-ins", "", "Cookie", first)
	if body := list.Body.String(); list.Code != 200 || strings.Count(body, `"current":true`) != 1 ||
		strings.Count(body, `"address":"192.0.2.1"`) != 2 || !strings.Contains(body, `"userAgent":"Chrome"`) {
		t.Fatalf("%d %s", list.Code, body)
	}
	ids := s.signInIDs(second)
	for _, id := range ids {
		want(t, s.as(s.bob, "DELETE", "/api/auth/sign-ins/"+id, ""), 404, `{"error":"Sign-in not found","code":"not_found"}`)
	}
	list = s.as(s.admin, "GET", "/api/users/"+s.ada.id+"/sign-ins", "")
	if body := list.Body.String(); list.Code != 200 || strings.Count(body, `"current":false`) != 2 {
		t.Errorf("%d %s", list.Code, body)
	}
	for _, id := range ids { // by an API token of the user, and by an administrator
		path, who := "/api/auth/sign-ins/"+id, s.ada
		if id == ids[1] {
			path, who = "/api/users/"+s.ada.id+"/sign-ins/"+id, s.admin
		}
		want(t, s.as(who, "DELETE", path, ""), 200, `{"success":true}`)
	}
	for _, cookie := range []string{first, second} {
		want(t, s.as(nil, "GET", "/api/auth/me", "", "Cookie", cookie), 401, unauthorized)
	}
}

func (s *site) signInIDs(cookie string) []string {
	s.t.Helper()
	body := s.as(nil, "GET", "/api/auth/sign-ins", "", "Cookie", cookie).Body.String()
	var ids []string
	for _, part := range strings.Split(body, `"id":"`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	return ids
}
