package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/agenthost"
	"bellhop/protocol"
)

var (
	_ agenthost.Workspaces         = (*Manager)(nil)
	_ agenthost.WorkspaceRemover   = (*Manager)(nil)
	_ agenthost.WorkspaceFetcher   = (*Manager)(nil)
	_ agenthost.Differ             = (*Manager)(nil)
	_ agenthost.FileLister         = (*Manager)(nil)
	_ agenthost.BranchedWorkspaces = (*Manager)(nil)
)

func TestMain(m *testing.M) {
	var err error
	if templates, err = os.MkdirTemp("", "workspace-templates-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(templates); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}

// kit is a manager with its data directory and log.
type kit struct {
	*testing.T
	*Manager
	log *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func open(t *testing.T, projects map[string]Project) *kit {
	t.Helper()
	return openOn(t, filepath.Join(t.TempDir(), "data"), projects)
}

// openOn opens another manager on the same data, as after a restart.
func openOn(t *testing.T, data string, projects map[string]Project) *kit {
	t.Helper()
	log := &buffer{}
	m, err := New(Options{
		Data: data, Projects: projects, Patience: time.Minute, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return &kit{t, m, log}
}

// session returns the working directory of a session.
func (k *kit) session(id, project string) string {
	k.Helper()
	dir, _, err := k.Dir(k.Context(), id, project)
	if err != nil {
		k.Fatal(err)
	}
	return dir
}

func (k *kit) diff(id, project string) *protocol.Diff {
	k.Helper()
	diff, err := k.Diff(k.Context(), id, project)
	if err != nil {
		k.Fatal(err)
	}
	return diff
}

// fileLines formats a diff's files, one line each.
func fileLines(diff *protocol.Diff) string {
	var lines []string
	for _, f := range diff.Files {
		line := string(f.Status) + " " + strings.ReplaceAll(f.Path, "\n", `\n`)
		if f.OldPath != "" {
			line += " from " + f.OldPath
		}
		if f.Binary {
			line += " binary"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o750))
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

// run runs git as a user would, with an identity and no other settings than that it starts no maintenance.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return runWith(t, dir, nil, args...)
}

// runWith is run with further variables.
func runWith(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Ada",
		"GIT_AUTHOR_EMAIL=ada@example.org",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "LC_ALL=C",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// templates is the directory of the repositories that tests copy.
var templates string

// template is a repository that git makes once for all tests. Each gets a copy, because a copy of a few files costs
// far less than processes of git.
type template struct {
	name string
	fill func(t *testing.T, dir string)
	once sync.Once
}

// copy returns the directory of a new copy.
func (r *template) copy(t *testing.T) string {
	t.Helper()
	from, to := filepath.Join(templates, r.name), filepath.Join(t.TempDir(), "shop")
	r.once.Do(func() {
		must(t, os.MkdirAll(from, 0o750))
		r.fill(t, from)
	})
	copyTree(t, from, to)
	return to
}

// copyTree copies directories and regular files with their modes and times.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if entry.IsDir() {
			return os.Mkdir(target, info.Mode().Perm())
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(
			os.WriteFile(target, content, info.Mode().Perm()), os.Chtimes(target, info.ModTime(), info.ModTime()),
		)
	}))
}

// newRepository creates a repository with one commit.
func newRepository(t *testing.T) string {
	t.Helper()
	return oneCommit.copy(t)
}

var oneCommit = template{name: "shop", fill: func(t *testing.T, dir string) {
	t.Helper()
	run(t, dir, "init", "--quiet", "--initial-branch=main")
	write(t, dir, "README", "shop\n")
	write(t, dir, "old.txt", strings.Repeat("one line\n", 20))
	write(t, dir, ".gitignore", "ignored/\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "--quiet", "-m", "first")
}}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// errorHint checks an error's code and returns its hint.
func errorHint(t *testing.T, err error, code protocol.Code) string {
	t.Helper()
	if protocol.CodeOf(err) != code {
		t.Fatalf("got %v, want code %s", err, code)
	}
	if e := new(protocol.Error); asError(err, &e) {
		return e.Hint
	}
	return ""
}
