package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/protocol"
)

// named returns a kit with the workspace fix of the project shop, which belongs to ada.
func named(t *testing.T) (k *kit, shop, dir string) {
	t.Helper()
	shop = newRepository(t)
	k = open(t, map[string]Project{"shop": {Path: shop}})
	made, err := k.Create(t.Context(), "shop", "fix", "ada")
	must(t, err)
	return k, shop, made.Path
}

func alive(string) bool { return true }

// use has a session of ada work in the workspace fix and returns its directory.
func (k *kit) use(session string) string {
	k.Helper()
	project, err := k.Use(k.Context(), session, "fix", "ada", alive)
	must(k.T, err)
	equal(k.T, "project", project, "shop")
	dir, _, err := k.Dir(k.Context(), session, project)
	must(k.T, err)
	return dir
}

func TestASessionWorksInAWorkspaceCreatedByName(t *testing.T) {
	t.Parallel()
	k, shop, dir := named(t)
	write(t, dir, "before.txt", "by the session that created it")
	for range 2 { // a repeated check-in
		equal(t, "directory", k.use("s1"), dir)
	}
	commitIn(t, dir)
	must(t, k.Fetch(t.Context(), "s1", "shop"))
	if out := run(t, shop, "log", "-1", "--format=%D", "bellhop/fix"); !strings.Contains(out, "bellhop/fix") {
		t.Errorf("the branch in the project: %q", out)
	}
	var paths []string
	for _, file := range k.diff("s1", "shop").Files {
		paths = append(paths, file.Path)
	}
	if !slices.Contains(paths, "before.txt") {
		t.Errorf("the diff begins with the workspace: %v", paths)
	}
	list, err := k.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "fix" || list[0].UsedBy != "s1" {
		t.Errorf("list %+v, %v", list, err)
	}
	reopened, err := New(Options{Data: k.data, Projects: map[string]Project{"shop": {Path: shop}}})
	must(t, err)
	defer func() { _ = reopened.Close() }()
	if again, _, err := reopened.Dir(t.Context(), "s1", "shop"); err != nil || again != dir {
		t.Errorf("after a restart of the host: %s, %v", again, err)
	}
}

func TestAWorkspaceIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	k, _, _ := named(t)
	_, err := k.Create(t.Context(), "shop", "operators", "")
	must(t, err)
	k.session("own", "shop")
	for what, c := range map[string]struct{ session, name, owner string }{
		"another owner":                     {"s1", "fix", "bob"},
		"no owner":                          {"s1", "fix", ""},
		"no owner for an unowned workspace": {"s1", "operators", ""},
		"an unowned workspace":              {"s1", "operators", "ada"},
		"a name that is not taken":          {"s1", "nothing", "ada"},
		"a session's own workspace":         {"s1", "../own", "ada"},
		"a record":                          {"s1", ".records", "ada"},
	} {
		_, err := k.Use(t.Context(), c.session, c.name, c.owner, alive)
		if protocol.CodeOf(err) != protocol.CodeNoWorkspace {
			t.Errorf("%s: %v", what, err)
		}
		if exists(k.recordPath("s1")) {
			t.Errorf("%s: a record is left", what)
		}
	}
	_, err = k.Use(t.Context(), "..", "fix", "ada", alive)
	errorHint(t, err, protocol.CodeInvalid)
	for owner, want := range map[string]int{"ada": 1, "bob": 0, "": 0} {
		if list, err := k.Named(t.Context(), owner); err != nil || len(list) != want {
			t.Errorf("owner %q: %+v, %v", owner, list, err)
		}
	}
}

func TestOneSessionAtATimeWorksInAWorkspace(t *testing.T) {
	t.Parallel()
	k, _, dir := named(t)
	k.use("s1")
	use := func(session string, exists func(string) bool) string {
		_, err := k.Use(t.Context(), session, "fix", "ada", exists)
		return string(protocol.CodeOf(err))
	}
	equal(t, "another session", use("s2", alive), string(protocol.CodeConflict))
	k.session("s3", "shop")
	_, err := k.Remove(t.Context(), "s1", "")
	must(t, err)
	equal(t, "a session with a workspace of its own", use("s3", alive), string(protocol.CodeConflict))
	equal(t, "after the first session was deleted", use("s2", alive), "")
	equal(t, "after the host lost the session", use("s4", func(string) bool { return false }), "")
	_, _, err = k.Dir(t.Context(), "s2", "shop")
	equal(t, "the lost session comes back", string(protocol.CodeOf(err)), string(protocol.CodeConflict))
	if moved, _, err := k.Dir(t.Context(), "s4", "shop"); err != nil || moved != dir {
		t.Errorf("the next one: %s, %v", moved, err)
	}
}

func TestDeletingASessionKeepsTheWorkspaceThatItDidNotCreate(t *testing.T) {
	t.Parallel()
	k, _, dir := named(t)
	k.use("s1")
	only, err := k.Remove(t.Context(), "s1", "")
	kept := only.Exist()
	if err != nil || kept || !exists(dir) || exists(k.recordPath("s1")) {
		t.Errorf("a clean workspace: kept %v, %v", kept, err)
	}
	k.use("s2")
	commitIn(t, dir)
	if _, err := k.Remove(t.Context(), "s2", ""); err != nil || !exists(filepath.Join(dir, ".git")) {
		t.Errorf("with work that is nowhere else: %v", err)
	}
	k.use("s3")
	must(t, os.RemoveAll(filepath.Join(k.data, "state", "s3"))) // the host crashed while it deleted the session
	_, _, err = k.Prune(t.Context(), false)
	must(t, err)
	if exists(k.recordPath("s3")) || !exists(dir) {
		t.Error("the record of a deleted session is left, or the workspace is gone")
	}
}

func TestAWorkspaceInUseIsDeletedByForceOnly(t *testing.T) {
	t.Parallel()
	k, _, dir := named(t)
	k.use("s1")
	errorHint(t, k.Delete(t.Context(), dir, false), protocol.CodeConflict)
	must(t, k.Delete(t.Context(), dir, true))
	_, _, err := k.Dir(t.Context(), "s1", "shop")
	errorHint(t, err, protocol.CodeNoWorkspace)
	_, err = k.Use(t.Context(), "s1", "fix", "ada", alive)
	errorHint(t, err, protocol.CodeNoWorkspace)
	_, err = k.Create(t.Context(), "shop", "fix", "bob") // of the same name, by another user
	must(t, err)
	_, _, err = k.Dir(t.Context(), "s1", "shop")
	errorHint(t, err, protocol.CodeNoWorkspace)
}
