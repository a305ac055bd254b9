package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheVersionBeforeIsOfTheFirstReleaseOrLater(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(root, name)
		Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		Must(t, os.WriteFile(path, []byte(content), 0o600))
	}
	commit := func() string {
		t.Helper()
		for _, args := range [][]string{
			{"add", "--all"},
			{"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=x"},
		} {
			if out, err := git(root, args...); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		id, err := git(root, "rev-parse", "HEAD")
		Must(t, err)
		return id
	}
	_, err := git(root, "init", "--quiet")
	Must(t, err)
	write("migrations/postgres/0031_forge_tokens.sql", "")
	early := commit()
	write(firstSchema, "")
	first := commit()
	for name, c := range map[string]struct{ content, commit, problem string }{
		"0.1.0 itself":         {"none\n", "", ""},
		"a release":            {first + "\n", first, ""},
		"before the first one": {early + "\n", "", "is of before 0.1.0"},
		"not fetched":          {strings.Repeat("ab", 20), "", "git fetch --unshallow"},
		"nothing":              {"", "", "is not in this folder's git history"},
	} {
		write(beforeFile, c.content)
		got, err := versionBefore(root)
		if got != c.commit || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
