package api_test

import (
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestOnlyAdministratorsInstallProgramsAndEachActIsAudited(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rec := s.as(s.admin, "POST", "/api/hosts", `{"name":"one","url":"`+agentURL+`","password":"`+agentPassword+`"}`)
	path := "/api/hosts/" + field(t, rec, "id") + "/installations"
	for _, c := range []struct{ method, path, body string }{
		{"GET", path, ""},
		{"POST", path, `{"program":"codex"}`},
		{"DELETE", path + "/codex", ""},
	} {
		want(t, s.as(s.ada, c.method, c.path, c.body), 403,
			`{"error":"Only administrators manage hosts","code":"forbidden"}`)
	}
	if s.host.installation != nil || len(s.audit("?action=host.installed").Entries) != 0 {
		t.Fatal("a user who is no administrator reached the host")
	}
	const running = `"program":"codex","title":"Codex","version":"1.0.0","state":"running","done":0,"total":0,"startedAt":"+0s",` +
		`"lines":["Downloads Codex"]}`
	want(t, s.as(s.admin, "POST", path, `{"program":"codex"}`), 200, `{"id":"i1",`+running)
	want(t, s.as(s.admin, "GET", path, ""), 200, `{"allowed":true,"installations":[{"id":"i1",`+running+`]}`)
	want(t, s.as(s.admin, "DELETE", path+"/codex", ""), 200,
		`{"id":"i1",`+strings.Replace(running, "running", "cancelled", 1))
	var acts []string
	for _, e := range s.audit("?action=host").Entries {
		acts = append(acts, string(e.Action)+" "+e.Subject.Name+" "+e.Detail["program"]+" "+e.Detail["version"])
	}
	if got := strings.Join(acts, ", "); got !=
		"host.cancelled one codex 1.0.0, host.installed one codex 1.0.0, host.created one  " {
		t.Errorf("acts: %q", got)
	}
}

func TestAnInstallationThatAHostRefusesIsNotAudited(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rec := s.as(s.admin, "POST", "/api/hosts", `{"name":"one","url":"`+agentURL+`","password":"`+agentPassword+`"}`)
	path := "/api/hosts/" + field(t, rec, "id") + "/installations"
	for _, program := range []string{"", "../status", "Codex", strings.Repeat("x", 65)} {
		want(t, s.as(s.admin, "POST", path, `{"program":"`+program+`"}`), 400,
			`{"error":"program must be 1 to 64 of a-z 0-9 -","code":"invalid"}`)
	}
	s.host.fail(&protocol.Error{Code: protocol.CodeForbidden, Message: "This host does not", Hint: "Its operator"})
	want(t, s.as(s.admin, "POST", path, `{"program":"codex"}`), 403,
		`{"error":"This host does not","code":"forbidden","hint":"Its operator"}`)
	s.host.fail(protocol.Errorf(protocol.CodeMethodNotAllowed, "no such route"))
	want(t, s.as(s.admin, "POST", path, `{"program":"codex"}`), 502,
		`{"error":"The agent host installs no programs","code":"bad_gateway",`+
			`"hint":"It is a basic agent server: install them there"}`)
	if got := s.audit("?action=host.installed").Entries; len(got) != 0 {
		t.Errorf("%+v", got)
	}
	want(t, s.as(s.admin, "GET", "/api/hosts/nowhere/installations", ""), 404,
		`{"error":"Host not found","code":"not_found"}`)
}

func TestAnAgentIsOfferedAtOnceAfterItsInstallation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rec := s.as(s.admin, "POST", "/api/hosts", `{"name":"one","url":"`+agentURL+`","password":"`+agentPassword+`"}`)
	path := "/api/hosts/" + field(t, rec, "id") + "/installations"
	offered := func() int {
		s.as(s.ada, "GET", "/api/agents", "")
		return s.host.offered
	}
	first := offered()
	s.as(s.admin, "POST", path, `{"program":"codex"}`)
	s.as(s.admin, "GET", path, "")
	if got := offered(); got != first {
		t.Errorf("asked %d times while it runs, want %d", got, first)
	}
	s.host.installation.State = protocol.InstallationInstalled
	s.as(s.admin, "GET", path, "")
	if got := offered(); got != first+1 {
		t.Errorf("asked %d times after its end, want %d", got, first+1)
	}
	s.as(s.admin, "GET", path, "")
	if got := offered(); got != first+1 {
		t.Errorf("asked %d times although nothing ended, want %d", got, first+1)
	}
}
