package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/internal/process"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// mirrored updates the mirror of a session's workspace and returns its directory.
func (k *kit) mirrored() (string, error) {
	k.Helper()
	rec, err := k.existingRecord(uuid, "shop")
	must(k.T, err)
	_, _, err = k.mirror(k.Context(), rec)
	return k.mirrorDir(rec), err
}

// The host's git reads no file that an agent can change or cut: a mirror has files of its own.
func TestAMirrorHasFilesOfItsOwn(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	run(t, dir, "commit", "--quiet", "--allow-empty", "-m", "one")
	mirror := must2(k.mirrored())(t)
	agent := filepath.Join(dir, ".git", "objects")
	compare := func(when string) {
		t.Helper()
		count := 0
		must(t, filepath.WalkDir(filepath.Join(mirror, "objects"), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "alternates") {
				return err
			}
			count++
			theirs := filepath.Join(agent, strings.TrimPrefix(path, filepath.Join(mirror, "objects")))
			if !bytes.Equal(mustRead(t, path), mustRead(t, theirs)) {
				t.Errorf("%s: %s is another one than the agent's", when, path)
			}
			a, errA := os.Stat(path)
			b, errB := os.Stat(theirs)
			if errors.Join(errA, errB) != nil || os.SameFile(a, b) {
				t.Errorf("%s: %s is the agent's own file, %v, %v", when, path, errA, errB)
			}
			return nil
		}))
		if count == 0 {
			t.Errorf("%s: the mirror has no object", when)
		}
	}
	compare("loose objects")
	run(t, dir, "gc", "--quiet")
	must2(k.mirrored())(t)
	compare("packed ones")
	large := filepath.Join(agent, "pack", "pack-"+strings.Repeat("a", 40)+".pack")
	content := make([]byte, 2*objectPiece+objectPiece/2)
	must1(t)(rand.Read(content[objectPiece+1:]))
	must(t, os.WriteFile(large, content, 0o600))
	must2(k.mirrored())(t)
	compare("a large pack")
	content[len(content)-1]++
	must(t, os.WriteFile(large, content, 0o600))
	must(t, os.Chtimes(large, time.Time{}, time.Now().Add(time.Hour)))
	must2(k.mirrored())(t)
	compare("a changed one")
	const size = 128 << 20
	must(t, os.Truncate(large, size)) // the agent's disk has nothing of this
	must2(k.mirrored())(t)
	var st syscall.Stat_t
	must(t, syscall.Stat(filepath.Join(mirror, "objects", "pack", filepath.Base(large)), &st))
	if st.Size != size || st.Blocks*512 > size/4 {
		t.Errorf("a pack of %d bytes takes %d", st.Size, st.Blocks*512)
	}
	must(t, os.Remove(large))
	must2(k.mirrored())(t)
	compare("a removed one")
}

func must2[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// Whatever stands in the place of a directory or file of .git, the host waits for nothing and follows nothing.
func TestAMirrorOfAHostileRepository(t *testing.T) {
	t.Parallel()
	other := newRepository(t)
	for name, c := range map[string]struct {
		hostile string // a script in .git
		want    protocol.Code
	}{
		"refs that are a link":           {"mv refs r; ln -s r refs", protocol.CodeConflict},
		"refs of another repository":     {"rm -r refs; ln -s " + other + "/.git/refs refs", protocol.CodeConflict},
		"a ref that is a link":           {"mkdir -p refs/heads; ln -s " + other + "/.git/refs/heads/main refs/heads/x", ""},
		"a ref that is a FIFO":           {"mkdir -p refs/heads; mkfifo refs/heads/x", ""},
		"a FIFO as packed-refs":          {"rm packed-refs; mkfifo packed-refs", protocol.CodeConflict},
		"a link as HEAD":                 {"rm HEAD; ln -s " + other + "/.git/HEAD HEAD", protocol.CodeConflict},
		"objects of another repository":  {"rm -r objects; ln -s " + other + "/.git/objects objects", protocol.CodeConflict},
		"a FIFO as a directory":          {"rm -rf objects/pack; mkfifo objects/pack", ""},
		"a FIFO as an object":            {"mkdir -p objects/ab; mkfifo objects/ab/" + strings.Repeat("c", 38), ""},
		"a link as an object":            {"mkdir -p objects/ab; ln -s /etc/passwd objects/ab/" + strings.Repeat("c", 38), ""},
		"a large list of shallow":        {"truncate -s 17M shallow", protocol.CodeConflict},
		"many directories of refs":       {"d=refs; for i in $(seq 60); do d=$d/d; done; mkdir -p $d", ""},
		"a socket as .git/objects/info":  {"rm -r objects/info; mkfifo objects/info", ""},
		"names that are too long to use": {"mkdir -p refs/heads; touch refs/heads/$(printf 'x%.0s' $(seq 250))", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _, dir := cloned(t)
			worktreetest.Shell(t, filepath.Join(dir, ".git"), c.hostile)
			mirror, err := k.mirrored()
			if protocol.CodeOf(err) != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
			must(t, filepath.WalkDir(mirror, func(path string, entry os.DirEntry, err error) error {
				if err == nil && !entry.IsDir() && !entry.Type().IsRegular() {
					t.Errorf("the mirror has %s", path)
				}
				return err
			}))
		})
	}
}

// The host reads refs and objects by the confined process alone.
func TestAMirrorIsReadByAConfinedProcess(t *testing.T) {
	t.Parallel()
	k, _, _ := cloned(t)
	refused := errors.New("no process")
	k.SetReader("", func(string, string, bool, process.Command) (process.Command, error) {
		return process.Command{}, refused
	})
	if _, err := k.mirrored(); !errors.Is(err, refused) {
		t.Errorf("without a process: %v", err)
	}
}

// While a program exchanges parts of .git, nothing of another repository comes into the mirror or the project, and no
// step of a session fails as an error of the host.
func TestAMirrorOfARacedRepositoryStaysInside(t *testing.T) {
	t.Parallel()
	other := newRepository(t)
	write(t, other, "secret", "SECRET-9c1d\n")
	run(t, other, "add", ".")
	run(t, other, "commit", "--quiet", "-m", "SECRET-9c1d")
	secret := run(t, other, "rev-parse", "HEAD")
	k, shop, dir := cloned(t)
	git := filepath.Join(dir, ".git")
	for link, target := range map[string]string{
		"l": other + "/.git", "r": other + "/.git/refs", "o": other + "/.git/objects", "h": other + "/.git/refs/heads/main",
	} {
		must(t, os.Symlink(target, filepath.Join(git, link)))
	}
	must(t, os.Symlink(filepath.Join(other, ".git"), filepath.Join(dir, "outside")))
	must(t, unix.Mkfifo(filepath.Join(git, "p"), 0o600))
	run(t, dir, "commit", "--quiet", "--allow-empty", "-m", "one")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		branch := ".git/refs/heads/bellhop/" // the directory of the session's branch
		pairs := [][2]string{
			{".git/refs", ".git/r"},
			{".git/objects", ".git/o"},
			{".git", "outside"},
			{".git/HEAD", ".git/h"},
			{".git/HEAD", ".git/p"},
			{".git/refs/heads", ".git/r"},
			{branch, ".git/r"},
			{".git/objects/pack", ".git/p"},
		}
		for i := 0; ctx.Err() == nil; i++ {
			pair := pairs[i/2%len(pairs)]
			_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, pair[0]), unix.AT_FDCWD, filepath.Join(dir, pair[1]), unix.RENAME_EXCHANGE)
		}
	}()
	for range testenv.Rounds(t) {
		mirror, err := k.mirrored()
		if err != nil && protocol.CodeOf(err) != protocol.CodeConflict {
			t.Errorf("the mirror: %v", err)
		}
		if tryRun(t.TempDir(), "--git-dir", mirror, "cat-file", "-e", secret) == nil {
			t.Fatal("the mirror has an object of outside")
		}
		if err := k.Fetch(t.Context(), uuid, "shop"); err != nil && protocol.CodeOf(err) != protocol.CodeConflict {
			t.Errorf("fetch: %v", err)
		}
	}
	stop()
	<-ended
	if tryRun(shop, "cat-file", "-e", secret) == nil {
		t.Error("the project has an object of outside")
	}
}

// obeyingModes has confined processes obey the modes of files, as those of a session do. Root alone would not.
func (k *kit) obeyingModes() {
	k.SetReader("", func(_, _ string, _ bool, c process.Command) (process.Command, error) {
		if os.Getuid() == 0 {
			c.Args = append([]string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--"}, c.Args...)
		}
		return c, nil
	})
}

// What a process may not read is not known, and never missing: without a ref or an object, commits that are nowhere else
// would count as pushed, and a repository that is closed would be replaced.
func TestWhatIsClosedInARepositoryIsNotMissing(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]func(git, head string) string{
		"a ref":              func(git, _ string) string { return filepath.Join(git, "refs", "heads", "mine") },
		"the refs":           func(git, _ string) string { return filepath.Join(git, "refs") },
		"a small object":     func(git, head string) string { return filepath.Join(git, "objects", head[:2], head[2:]) },
		"a large object":     func(git, _ string) string { return filepath.Join(git, "objects", "00", strings.Repeat("0", 38)) },
		"the git directory":  func(git, _ string) string { return git },
		"its object folders": func(git, _ string) string { return filepath.Join(git, "objects") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _, dir := cloned(t)
			run(t, dir, "checkout", "--quiet", "-b", "mine")
			run(t, dir, "commit", "--quiet", "--allow-empty", "-m", "only here")
			head := run(t, dir, "rev-parse", "HEAD")
			git := filepath.Join(dir, ".git")
			if large := closed(git, head); strings.HasSuffix(large, "000") {
				write(t, filepath.Dir(large), filepath.Base(large), strings.Repeat("x", objectPiece+1))
			}
			k.obeyingModes()
			path := closed(git, head)
			info, err := os.Stat(path)
			must(t, err)
			must(t, os.Chmod(path, 0))
			t.Cleanup(func() { _ = os.Chmod(path, info.Mode()) })

			if _, err := k.mirrored(); protocol.CodeOf(err) != protocol.CodeConflict || !strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("the mirror: %v", err)
			}
			if only, err := k.Remove(t.Context(), uuid, ""); err == nil && !only.Exist() {
				t.Error("the workspace is removed")
			}
			_, _, err = k.Dir(t.Context(), uuid, "shop")
			must(t, os.Chmod(path, info.Mode()))
			if now := run(t, dir, "rev-parse", "mine"); now != head {
				t.Errorf("the branch is at %s, not %s", now, head)
			}
			if err != nil && (protocol.CodeOf(err) != protocol.CodeConflict || strings.Contains(err.Error(), "any more")) {
				t.Errorf("a check-in: %v", err)
			}
		})
	}
}
