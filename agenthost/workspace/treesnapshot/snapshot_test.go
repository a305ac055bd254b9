package treesnapshot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/internal/testenv"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// host takes snapshots of a work tree.
type host struct {
	*Store
	t       testing.TB
	request treereader.Request
	calls   int
}

func (h *host) run(ctx context.Context, c Call) ([]byte, error) {
	h.calls++
	cmd := exec.CommandContext(ctx, "git", c.Args...)
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1")
	for name, value := range map[string]string{"GIT_DIR": c.GitDir, "GIT_WORK_TREE": c.WorkTree, "GIT_INDEX_FILE": c.IndexFile} {
		if value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Dir, cmd.Stdin = h.t.TempDir(), c.Stdin
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(c.Args, " "), err, stderr.String())
	}
	return out, err
}

// inProcess is a reading in this process.
type inProcess struct{ *treereader.Answer }

func (inProcess) Close() {}

func (h *host) read(_ context.Context, known treereader.Files) (Facts, error) {
	var request, answer bytes.Buffer
	if err := treereader.WriteRequest(&request, &h.request, known); err != nil {
		return nil, err
	}
	err := treereader.Serve(&request, &answer)
	return inProcess{treereader.ReadAnswer(&answer, &h.request, known)}, err
}

func (h *host) take() *Snapshot {
	h.t.Helper()
	s, err := h.Take(h.t.Context(), h.t.TempDir(), h.read)
	must(h.t, err)
	return s
}

func openHost(t testing.TB, root, format, objects, base string) *host {
	t.Helper()
	hashSize := 20
	if format == "sha256" {
		hashSize = 32
	}
	h := &host{t: t, request: treereader.Request{Root: root, HashSize: hashSize, Limits: treereader.Limits{
		Files: 50_000, Bytes: 512 << 20, FileSize: 64 << 20, Large: 1 << 30, Entries: 1_000_000, Depth: 100,
	}}}
	exclude, _ := os.ReadFile(filepath.Join(root, ".git/info/exclude"))
	h.request.Exclude = string(exclude)
	var err error
	h.Store, err = Open(t.TempDir(), objects, base, hashSize, h.run)
	must(t, err)
	h.request.Submodules, err = h.Submodules(t.Context(), base)
	must(t, err)
	return h
}

// TestTreesEqualThoseOfGit compares snapshots with what "git add -A" makes of a tree: before and after a session's
// changes and once more without any, in a repository of the session's own and in a clone.
func TestTreesEqualThoseOfGit(t *testing.T) {
	t.Parallel()
	step := max(1, len(worktreetest.OddTrees)/testenv.Rounds(t))
	for i, odd := range worktreetest.OddTrees {
		if i%step != 0 {
			continue
		}
		formats := []string{"sha1"}
		if i%(2*step) == 0 {
			formats = append(formats, "sha256")
		}
		for _, format := range formats {
			t.Run(odd.Name+" "+format, func(t *testing.T) {
				t.Parallel()
				compareWithGit(t, odd, format)
			})
		}
	}
}

func compareWithGit(t *testing.T, odd worktreetest.OddTree, format string) {
	t.Helper()
	env := "GIT_DEFAULT_HASH=" + format
	states := func(what, root string, h *host) {
		id := ""
		for _, state := range []string{"first", "then", "again"} {
			if state == "then" {
				worktreetest.Shell(t, root, odd.Then, env)
			}
			got := h.take()
			if state == "again" {
				if got.ID != id {
					t.Errorf("%s: the same state has the ids %s and %s", what, id, got.ID)
				}
			} else if want := worktreetest.TreeOfGit(t, root); got.Tree != want {
				list, _ := h.run(t.Context(), Call{GitDir: h.GitDir(), Args: []string{"ls-tree", "-r", got.Tree}})
				t.Errorf("%s, %s: %s, git %s\n%s\nleft out %v", what, state, got.Tree, want, list, got.LeftOut)
			}
			id = got.ID
		}
		if _, err := h.run(t.Context(), Call{GitDir: h.GitDir(), Args: []string{"fsck", "--strict", "--no-dangling"}}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	parent := t.TempDir()
	own, clone := filepath.Join(parent, "own"), filepath.Join(parent, "clone")
	must(t, os.Mkdir(own, 0o755))
	worktreetest.Shell(t, own, "git init -q -b main; "+odd.First+"; git add -A; git commit -qm first --allow-empty", env)
	worktreetest.Shell(t, parent, "git clone -q own clone", env)
	states("own", own, openHost(t, own, format, "", ""))
	base := strings.TrimSpace(worktreetest.Shell(t, clone, "git rev-parse HEAD"))
	states("clone", clone, openHost(t, clone, format, filepath.Join(own, ".git/objects"), base))
}

// An unchanged tree costs no process of git.
func TestARepeatStartsNoGit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Shell(t, root, "git init -q; echo a>a; echo '* text=auto'>.gitattributes")
	h := openHost(t, root, "sha1", "", "")
	first := h.take()
	h.calls = 0
	if again := h.take(); again.ID != first.ID || h.calls != 0 {
		t.Errorf("%d processes, %s and %s", h.calls, first.ID, again.ID)
	}
	must(t, os.WriteFile(filepath.Join(root, "b"), []byte("b\r\n"), 0o600))
	if h.take(); h.calls > 5 {
		t.Errorf("a change takes %d processes", h.calls)
	}
}

// What a snapshot cannot have is named, and the rest is in it.
func TestWhatIsLeftOutIsNamed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Shell(t, root, "git init -q; echo a>a; mkfifo fifo")
	got := openHost(t, root, "sha1", "", "").take()
	if len(got.LeftOut) != 1 || got.LeftOut[0] != (treereader.LeftOut{Path: "fifo", Reason: treereader.IsFIFO}) {
		t.Errorf("left out %v", got.LeftOut)
	}
}

// A reading that fails leaves the store as it was.
func TestAFailedReadingChangesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Shell(t, root, "git init -q; echo a>a")
	h := openHost(t, root, "sha1", "", "")
	first := h.take()
	worktreetest.Shell(t, root, "echo b>b")
	_, err := h.Take(t.Context(), t.TempDir(), func(_ context.Context, known treereader.Files) (Facts, error) {
		var request, answer bytes.Buffer
		must(t, treereader.WriteRequest(&request, &h.request, known))
		must(t, treereader.Serve(&request, &answer))
		cut := io.LimitReader(&answer, int64(answer.Len()-1))
		return inProcess{treereader.ReadAnswer(cut, &h.request, known)}, nil
	})
	if err == nil {
		t.Error("an answer without its end was taken")
	}
	worktreetest.Shell(t, root, "rm b")
	if again := h.take(); again.ID != first.ID {
		t.Errorf("%s, then %s", first.ID, again.ID)
	}
}
