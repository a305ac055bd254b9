package agenthost_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
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
	t.Parallel()
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
	t.Parallel()
	r := newRig(t).start()
	_, err := r.host.Paths(t.Context(), "s1", "")
	r.wantCode("of a session", err, protocol.CodeMethodNotAllowed)
	_, err = r.host.ProjectPaths(t.Context(), "shop", "", "")
	r.wantCode("of a project", err, protocol.CodeMethodNotAllowed)
}

// reading is a FileReader with one file, which has a secret everywhere.
type reading struct{ directories }

const fileSecret = "a-secret-canary"

func (reading) Directory(_ context.Context, id, _, path, after string) (*protocol.FileList, error) {
	return &protocol.FileList{Path: path + fileSecret, Next: after + fileSecret, Entries: []protocol.FileEntry{
		{Name: id + fileSecret, Target: fileSecret},
	}}, nil
}

func (reading) File(
	_ context.Context, _, _, path string, offset int64, mask func(before, piece string, final bool) (string, int),
) (*protocol.FileContent, error) {
	text, _ := mask("a-sec", "ret-canary is "+fileSecret, true)
	return &protocol.FileContent{Path: path + fileSecret, Text: text, Offset: offset}, nil
}

func (reading) Search(
	_ context.Context, _, _ string, q protocol.FileSearch, mask func(string) string,
) (*protocol.FileMatches, error) {
	if q.Query == "nothing" {
		return nil, protocol.Errorf(protocol.CodeNotFound, "Workspace not found")
	}
	return &protocol.FileMatches{Matches: []protocol.FileMatch{{Path: fileSecret, Match: mask(fileSecret)}}}, nil
}

func TestFilesOfASessionAreShownWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options = func(o *agenthost.Options) {
		o.Workspaces = reading{directories{t.TempDir()}}
		o.Secrets = func(string) []string { return []string{fileSecret} }
	}
	r.start()
	r.turn("s1", "t1", writeText("Done"))
	list, errList := r.host.Directory(t.Context(), "s1", "src", "a")
	file, errFile := r.host.File(t.Context(), "s1", "README", 7)
	found, errSearch := r.host.SearchFiles(t.Context(), "s1", protocol.FileSearch{Query: "x"})
	if err := errors.Join(errList, errFile, errSearch); err != nil {
		t.Fatal(err)
	}
	all, _ := json.Marshal([]any{list, file, found})
	if strings.Contains(string(all), "secret") || strings.Contains(file.Text, "canary") || file.Offset != 7 {
		t.Errorf("%s", all)
	}
	_, err := r.host.SearchFiles(t.Context(), "s1", protocol.FileSearch{Query: "nothing"})
	r.wantCode("a session without a workspace", err, protocol.CodeNoWorkspace)
	_, err = r.host.Directory(t.Context(), "s2", "", "")
	r.wantCode("an unknown session", err, protocol.CodeNotFound)
}

func TestAHostWithoutFilesRefusesToShowThem(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	_, err := r.host.File(t.Context(), "s1", "README", 0)
	r.wantCode("a file", err, protocol.CodeMethodNotAllowed)
}
