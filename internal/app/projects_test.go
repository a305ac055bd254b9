package app

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bellhop/agenthost/workspace"
	"bellhop/protocol"
)

func projectsOf(t *testing.T, text string) (HostFile, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "host.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadHostFile(path)
}

func TestHostFileProjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := projectsOf(t, `projects:
  plain: `+dir+`
  path: {path: `+dir+`, branch: next, worktree: false, commands: {test: [make, test]}}
  clone: {clone: "https://example.org/shop.git", worktree: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]workspace.Project{
		"plain": {Path: dir},
		"path":  {Path: dir, Branch: "next", InPlace: true, Commands: map[string][]string{"test": {"make", "test"}}},
		"clone": {Clone: "https://example.org/shop.git"},
	}
	if got := file.workspaceProjects(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestInvalidProjectsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a missing directory":   {"/no/such", "project x: /no/such is not a directory"},
		"nothing":               {"{}", "project x: name its path, or what to clone"},
		"both":                  {"{path: /, clone: b}", "project x: name its path, or what to clone"},
		"a mistyped key":        {"{pth: /}", "a project has no pth; it has path, clone, branch, worktree, commands"},
		"a list":                {"[/]", "a project is a directory, or has path or clone"},
		"an option as a URL":    {"{clone: --upload-pack=x}", "an address or a branch does not begin with -"},
		"an option as a branch": {"{path: /, branch: --force}", "an address or a branch does not begin with -"},
		"a command as a string": {"{path: /, commands: {test: make test}}", "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := projectsOf(t, "projects: {x: "+c.text+"}"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestOpenWorkspacesAcceptsTheDataOfDev(t *testing.T) {
	t.Parallel()
	dev := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dev, "host"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dev, "dev.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dev, filepath.Join(dev, "host")} {
		m, err := OpenWorkspaces(dir, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		info, err := m.Create(t.Context(), "", filepath.Base(dir), "")
		if err != nil || info.Path != filepath.Join(dev, "host", "workspaces", "@"+filepath.Base(dir)) {
			t.Errorf("got %+v, %v", info, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenWorkspaces(filepath.Join(dev, "none"), "", nil); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("got %v", err)
	}
}
