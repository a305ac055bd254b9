package worktreetest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Shell runs a script in a directory and returns its output. Its failures are part of the odd states that tests make.
func Shell(t testing.TB, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=advice.addEmbeddedRepo", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=protocol.file.allow", "GIT_CONFIG_VALUE_1=always")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

// withoutInner removes the repositories inside that are no submodules: their files are those of any directory.
const withoutInner = `git config -z -f .gitmodules --get-regexp '\.path$' | tr '\n' ' ' | tr '\0' '\n' | cut -d ' ' -f 2 >.git/modules-of
find . -mindepth 2 -name .git -prune | while read -r found; do
	dir=${found#./}; dir=${dir%/.git}
	grep -qxF "$dir" .git/modules-of && continue
	rm -rf "$found"; git ls-files -s "$dir" | grep -q ^160000 && git rm -q --cached "$dir"
done
`

// TreeOfGit returns the tree that git itself makes of a work tree, with the files of repositories inside that are no submodules.
// It starts no filter, because the host never does.
func TreeOfGit(t testing.TB, root string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	return strings.TrimSpace(Shell(t, root,
		"cp -a . "+to+"; cd "+to+"; "+withoutInner+"git config --remove-section filter.x; git add -A >/dev/null; git write-tree"))
}
