package hosts_test

import (
	"io"
	"net/http"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestOnlyAHostListsFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Code
	}{
		"a host":       {answering(200, `{"paths":["README"]}`), ""},
		"a gateway":    {answering(200, `{"success":true}`), protocol.CodeBadGateway},
		"a basic host": {answering(404, `no such page`), protocol.CodeMethodNotAllowed},
		"a host that lists none": {
			answering(405, `{"error":"no","code":"method_not_allowed"}`), protocol.CodeMethodNotAllowed,
		},
		"a session without a workspace": {
			answering(404, `{"error":"Workspace not found","code":"not_found"}`), protocol.CodeNotFound,
		},
		"a project without the branch": {
			answering(409, `{"error":"no such branch","code":"no_branch"}`), protocol.CodeNoBranch,
		},
		"a host that fails in another form": {answering(500, `oops`), protocol.CodeBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := newClient(t, hosts.Options{}).SessionPaths(t.Context(), target(serve(t, c.host), password),
				"s1", "read")
			if protocol.CodeOf(err) != c.want || err == nil && len(list.Paths) != 1 {
				t.Errorf("%+v, %v, want %q", list, err, c.want)
			}
		})
	}
}

func TestASearchForFilesIsOnePathWithAQuery(t *testing.T) {
	t.Parallel()
	var asked []string
	client := newClient(t, hosts.Options{})
	to := target(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI)
		_, _ = io.WriteString(w, `{"paths":[]}`)
	})), password)
	if _, err := client.SessionPaths(t.Context(), to, "s1", "a&b"); err != nil {
		t.Error(err)
	}
	if _, err := client.ProjectPaths(t.Context(), to, "my shop/x", "fix/1", "?"); err != nil {
		t.Error(err)
	}
	want := []string{"GET /session/s1/paths?q=a%26b", "GET /projects/my%20shop%2Fx/paths?branch=fix%2F1&q=%3F"}
	if len(asked) != 2 || asked[0] != want[0] || asked[1] != want[1] {
		t.Errorf("asked %v", asked)
	}
}
