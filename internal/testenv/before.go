package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// beforeFile has the commit of the version before this one, from the first commit after 0.1.0 on; until then it has
// the word none.
const beforeFile = "internal/torture/testdata/version-before"

// firstSchema is in every version that is upgraded.
const firstSchema = "migrations/postgres/0032_schema.sql"

// VersionBefore returns the commit of the version before this one, which is mixed with it and upgraded to it. It
// returns "" while there is none. root is the folder of this source.
func VersionBefore(t testing.TB, root string) (commit string) {
	t.Helper()
	commit, err := versionBefore(root)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

func versionBefore(root string) (commit string, err error) {
	content, err := os.ReadFile(filepath.Join(root, beforeFile))
	if err != nil {
		return "", err
	}
	if commit = strings.TrimSpace(string(content)); commit == "none" {
		return "", nil
	}
	if out, err := git(root, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("the version before, commit %s of %s, is not in this folder's git history "+
			"(a shallow clone, or an exported tree): %w\n%s\nHint: git fetch --unshallow", commit, beforeFile, err, out)
	}
	if _, err := git(root, "cat-file", "-e", commit+":"+firstSchema); err != nil {
		return "", fmt.Errorf("the version before, commit %s of %s, is of before 0.1.0, from which nothing is upgraded: "+
			"it has no %s", commit, beforeFile, firstSchema)
	}
	return commit, nil
}

func git(dir string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
