package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestProjectsAreDescribedWithTheirBranches(t *testing.T) {
	t.Parallel()
	shop, plain, gone := newRepository(t), t.TempDir(), filepath.Join(t.TempDir(), "gone")
	must(t, os.Mkdir(gone, 0o750))
	for _, branch := range []string{"next", "bellhop/2c3d4e5f"} {
		run(t, shop, "branch", branch)
	}
	run(t, shop, "update-ref", "refs/remotes/origin/far", "HEAD")
	run(t, shop, "update-ref", "refs/remotes/origin/next", "HEAD")
	run(t, shop, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/far")
	write(t, shop, "later", "x")
	run(t, shop, "add", ".")
	runWith(t, shop, []string{"GIT_COMMITTER_DATE=2037-01-01T00:00:00Z"}, "commit", "--quiet", "-m", "later")
	k := open(t, map[string]Project{
		"shop": {Path: shop}, "fixed": {Path: shop, Branch: "next"}, "plain": {Path: plain}, "gone": {Path: gone},
		"far": {Clone: "https://git.example/far.git", Branch: "main"},
	})
	must(t, os.Remove(gone))
	got, err := json.Marshal(k.Projects(t.Context()))
	must(t, err)
	equal(t, "projects", string(got), `[{"name":"far","isRepository":true,"defaultBranch":"main","branches":[]},`+
		`{"name":"fixed","isRepository":true,"defaultBranch":"next","branches":["main","next","far"]},`+
		`{"name":"gone","isRepository":false,"branches":[],"problem":"The project cannot be read"},`+
		`{"name":"plain","isRepository":false,"branches":[]},`+
		`{"name":"shop","isRepository":true,"defaultBranch":"main","branches":["main","next","far"]}]`)
}
