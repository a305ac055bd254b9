package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bellhop/agenthost"
	"bellhop/protocol"
)

var (
	_ agenthost.Workspaces       = (*Directories)(nil)
	_ agenthost.WorkspaceRemover = (*Directories)(nil)
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, projects map[string]string) (*Directories, string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	d, err := New(data, projects)
	if err != nil {
		t.Fatal(err)
	}
	return d, data
}

func TestASessionHasItsOwnPrivateDirectories(t *testing.T) {
	d, data := open(t, nil)
	for range 2 { // the second time they exist
		dir, state, err := d.Dir(context.Background(), "0193-a_b.c", "")
		if err != nil {
			t.Fatal(err)
		}
		if dir != filepath.Join(data, "workspaces", "0193-a_b.c") || state != filepath.Join(data, "state", "0193-a_b.c") {
			t.Fatalf("got %s and %s", dir, state)
		}
		for _, path := range []string{dir, state} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
		}
	}
}

func TestAProjectIsTheWorkingDirectory(t *testing.T) {
	shop := t.TempDir()
	d, data := open(t, map[string]string{"shop": shop})
	dir, state, err := d.Dir(context.Background(), "s1", "shop")
	if err != nil || dir != shop || state != filepath.Join(data, "state", "s1") {
		t.Fatalf("got %s, %s, %v", dir, state, err)
	}
	if _, err := os.Stat(filepath.Join(data, "workspaces")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a workspace was made beside the project: %v", err)
	}
}

func TestRefusedSessionsLeaveNothing(t *testing.T) {
	for name, id := range map[string]string{
		"empty":            "",
		"the parent":       "..",
		"the directory":    ".",
		"a hidden name":    ".ssh",
		"a way out":        "../../etc",
		"absolute":         "/etc",
		"a backslash":      `a\b`,
		"a NUL":            "a\x00b",
		"a line end":       "a\nb",
		"an option":        "-rf",
		"not ASCII":        "sé",
		"longer than 128":  strings.Repeat("a", 129),
		"a percent escape": "%2e%2e",
	} {
		t.Run(name, func(t *testing.T) {
			d, data := open(t, nil)
			_, _, err := d.Dir(context.Background(), id, "")
			if protocol.CodeOf(err) != protocol.CodeInvalid {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was made: %v", err)
			}
		})
	}
}

func TestAnUnknownProjectNamesTheKnownOnes(t *testing.T) {
	for name, c := range map[string]struct {
		projects map[string]string
		want     string
	}{
		"none":    {nil, "This host has no projects; leave the project out."},
		"several": {map[string]string{"shop": "/a", "blog": "/b"}, "This host knows: blog, shop."},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := open(t, c.projects)
			_, _, err := d.Dir(context.Background(), "s1", "../etc")
			var refused *protocol.Error
			if !errors.As(err, &refused) || refused.Code != protocol.CodeInvalid || refused.Message != `Unknown project "../etc"` || refused.Hint != c.want {
				t.Errorf("got %#v", err)
			}
		})
	}
}

func TestAProjectThatIsGoneIsAnError(t *testing.T) {
	d, _ := open(t, map[string]string{"shop": filepath.Join(t.TempDir(), "gone")})
	if _, _, err := d.Dir(context.Background(), "s1", "shop"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestRemoveKeepsWork(t *testing.T) {
	shop := t.TempDir()
	for name, c := range map[string]struct {
		project string
		file    bool
		kept    bool
	}{
		"an empty workspace goes":    {},
		"one with files stays":       {file: true, kept: true},
		"a project is never touched": {project: "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := open(t, map[string]string{"shop": shop})
			dir, state, err := d.Dir(t.Context(), "s1", c.project)
			if err != nil {
				t.Fatal(err)
			}
			if c.file {
				if err := os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			kept, err := d.Remove(t.Context(), "s1", c.project)
			if kept != c.kept || err != nil {
				t.Errorf("got %v, %v", kept, err)
			}
			_, gone := os.Stat(dir)
			if stays := c.kept || c.project != ""; stays != (gone == nil) {
				t.Errorf("the working directory: %v", gone)
			}
			if _, err := os.Stat(state); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the state directory: %v", err)
			}
		})
	}
	d, _ := open(t, nil)
	if kept, err := d.Remove(t.Context(), "never-seen", ""); kept || err != nil {
		t.Errorf("got %v, %v", kept, err)
	}
	if _, err := d.Remove(t.Context(), "..", ""); protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("got %v", err)
	}
}
