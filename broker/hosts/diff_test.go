package hosts_test

import (
	"net/http"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestDiffOfAHost(t *testing.T) {
	t.Parallel()
	var path string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
		answering(200, `{"base":"b","files":[{"path":"a","status":"added","additions":1,"deletions":0}],"patch":"p"}`)(w, r)
	}))
	diff, err := newClient(t, hosts.Options{}).Diff(t.Context(), target(url, password), "s1")
	if err != nil || path != "GET /session/s1/diff Bearer "+password || diff.Patch != "p" || len(diff.Files) != 1 ||
		diff.Files[0].Path != "a" {
		t.Errorf("%+v, %v, asked %s", diff, err, path)
	}
}

func TestHostsWithoutDiffs(t *testing.T) {
	t.Parallel()
	none := protocol.Error{
		Code: protocol.CodeMethodNotAllowed, Message: "The agent host makes no diffs",
		Hint: "Only hosts with the capability diff do",
	}
	for name, c := range map[string]struct {
		host http.HandlerFunc
		want protocol.Error
	}{
		"a basic host has no such route": {answering(404, "404 page not found"), none},
		"a host without this method":     {answering(405, ""), none},
		"a session the host does not have": {
			answering(404, `{"error":"Session not found","code":"not_found"}`),
			protocol.Error{Code: protocol.CodeNotFound, Message: "Session not found"},
		},
		"nothing to compare with": {
			answering(409, `{"error":"No base","code":"conflict","hint":"h"}`),
			protocol.Error{Code: protocol.CodeConflict, Message: "No base", Hint: "h"},
		},
		"a gateway's success": {
			answering(200, `{"success":true}`),
			protocol.Error{
				Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
				Hint: "Check the agent URL: nothing there answers as an agent host",
			},
		},
		"not JSON": {
			answering(200, "<html>"),
			protocol.Error{
				Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
				Hint: "Check the agent URL: nothing there answers as an agent host",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, hosts.Options{}).Diff(t.Context(), target(serve(t, c.host), password), "s1")
			wantError(t, err, c.want)
		})
	}
}
