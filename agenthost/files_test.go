package agenthost_test

import (
	"context"
	"slices"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// listing is a Workspaces with one file, whose name has a secret.
type listing struct{ directories }

func (listing) Paths(_ context.Context, id, _, query string) (*protocol.PathList, error) {
	return &protocol.PathList{Paths: []string{"of/" + id + "/" + query, "a-secret-canary.txt"}}, nil
}

func (listing) ProjectPaths(_ context.Context, project, branch, query string) (*protocol.PathList, error) {
	return &protocol.PathList{Paths: []string{project + "@" + branch + "/" + query}}, nil
}

func TestFilesOfASessionAreListedWithoutItsSecrets(t *testing.T) {
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.Workspaces = listing{directories{t.TempDir()}}
		o.Secrets = func(string) []string { return []string{"a-secret-canary"} }
	}
	r.start()
	r.turn("s1", "t1", writeText("Done"))
	list, err := r.host.Paths(t.Context(), "s1", "read")
	if err != nil || list.Paths[0] != "of/s1/read" || slices.Contains(list.Paths, "a-secret-canary.txt") {
		t.Errorf("%+v, %v", list, err)
	}
	_, err = r.host.Paths(t.Context(), "s2", "read")
	r.wantCode("an unknown session", err, protocol.CodeNotFound)
	list, err = r.host.ProjectPaths(t.Context(), "shop", "release", "read")
	if err != nil || list.Paths[0] != "shop@release/read" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestAHostWithoutListsOfFilesRefusesSearches(t *testing.T) {
	r := newRig(t).start()
	_, err := r.host.Paths(t.Context(), "s1", "")
	r.wantCode("of a session", err, protocol.CodeMethodNotAllowed)
	_, err = r.host.ProjectPaths(t.Context(), "shop", "", "")
	r.wantCode("of a project", err, protocol.CodeMethodNotAllowed)
}
