//go:build unix

package treereader

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOnlyFilesAndLinksAreRead(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(outside, []byte("secret"), 0o600))
	write(t, root, "d/plain", "plain\n")
	must(t, os.Chmod(filepath.Join(root, "d/plain"), 0o744))
	must(t, os.Symlink(outside, filepath.Join(root, "link")))
	must(t, os.Symlink(filepath.Dir(outside), filepath.Join(root, "directory")))
	must(t, os.Symlink("/dev/zero", filepath.Join(root, "zero")))
	must(t, os.Symlink("nowhere", filepath.Join(root, ".gitmodules")))
	must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	must(t, unix.Mkfifo(filepath.Join(root, ".gitattributes"), 0o644))
	must(t, unix.Mkfifo(filepath.Join(root, ".gitignore"), 0o644))
	must(t, unix.Mkfifo(filepath.Join(root, "d/.gitignore"), 0o644))
	must(t, os.Mkdir(filepath.Join(root, ".GIT"), 0o755))
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	must(t, err)
	defer listener.Close()
	must(t, os.Rename(socket, filepath.Join(root, "socket")))

	got := (&reading{Request: Request{Root: root}}).run(t)
	if want := map[string]string{
		"d/plain": "plain\n", "link": outside, "directory": filepath.Dir(outside), "zero": "/dev/zero",
	}; !maps.Equal(got.files, want) {
		t.Errorf("read %q", got.files)
	}
	if got.modes["d/plain"] != ModeProgram || got.modes["link"] != ModeLink {
		t.Errorf("modes %v", got.modes)
	}
	if want := map[string]Reason{
		"fifo": IsFIFO, ".gitattributes": IsFIFO, ".gitignore": IsFIFO, "d/.gitignore": IsFIFO, "socket": IsSocket,
		".GIT": RefusedName, ".gitmodules": RefusedName,
	}; !maps.Equal(got.leftOut, want) {
		t.Errorf("left out %v", got.leftOut)
	}
}

// A device cannot be made by ordinary users; the walk is the same for all.
func TestDevicesAreLeftOut(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := unix.Mknod(filepath.Join(root, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		if !errors.Is(err, unix.EPERM) {
			t.Fatal(err)
		}
		return
	}
	got := (&reading{Request: Request{Root: root}}).run(t)
	if got.leftOut["null"] != IsDevice {
		t.Errorf("left out %v", got.leftOut)
	}
}

func TestGitDirectoryOfAnyKindIsNoError(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".git/HEAD", ".git/index", ".git/refs/heads/main", ".git/packed-refs", ".git/objects"} {
		for kind, create := range map[string]func(path string) error{
			"FIFO":         func(path string) error { return unix.Mkfifo(path, 0o644) },
			"link":         func(path string) error { return os.Symlink("/dev/zero", path) },
			"link to self": func(path string) error { return os.Symlink(filepath.Base(path), path) },
			"file":         func(path string) error { return os.WriteFile(path, []byte("gitdir: /etc\n"), 0o600) },
			"huge":         func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
			"directory":    func(path string) error { return os.Mkdir(path, 0o755) },
			"not there":    func(string) error { return nil },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				shell(t, root, "git init -q -b main; echo a>a; git add a; git commit -qm a; git pack-refs --all; git commit -qm b --allow-empty")
				must(t, os.RemoveAll(filepath.Join(root, name)))
				must(t, create(filepath.Join(root, name)))
				got := (&reading{Request: Request{Root: root}}).run(t)
				if got.files["a"] != "a\n" || len(got.files) != 1 {
					t.Errorf("read %q", got.files)
				}
			})
		}
	}
}

func TestPathsThatAreTooLongOrDeepAreLeftOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("d", 250)
	for _, deep := range []struct {
		name     string
		elements int
		reason   Reason
		read     bool
	}{
		{long, 12, 0, true},
		{long, 24, PathTooLong, false},
		{"d", 90, 0, true},
		{"d", 900, TooDeep, false},
	} {
		t.Run(fmt.Sprint(len(deep.name), deep.elements), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, "beside", "x")
			d, err := openDirectory(root, func() {})
			must(t, err)
			for range deep.elements {
				must(t, unix.Mkdirat(d.fd, deep.name, 0o755))
				next, err := d.open(deep.name)
				must(t, err)
				d.close()
				d = next
			}
			fd, err := unix.Openat(d.fd, "f", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
			must(t, err)
			must(t, unix.Close(fd))
			d.close()

			got := (&reading{Request: Request{Root: root}}).run(t)
			if _, ok := got.files["beside"]; !ok {
				t.Error("the file beside it was not read")
			}
			if deep.read {
				if len(got.files) != 2 || len(got.leftOut) != 0 {
					t.Errorf("%d files, left out %v", len(got.files), got.leftOut)
				}
				return
			}
			if reasons := slices.Collect(maps.Values(got.leftOut)); len(got.files) != 1 || !slices.Equal(reasons, []Reason{deep.reason}) {
				t.Errorf("%d files, left out for %v", len(got.files), reasons)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 20 {
		write(t, root, fmt.Sprint("d/", i), strings.Repeat("x", 100))
	}
	for _, one := range []struct {
		name  string
		bound func(*Limits)
		want  error
	}{
		{"none", func(*Limits) {}, nil},
		{"files", func(l *Limits) { l.Files = 19 }, errFiles},
		{"bytes", func(l *Limits) { l.Bytes = 1999 }, errBytes},
		{"entries", func(l *Limits) { l.Entries = 20 }, errEntries},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			r := &reading{Request: Request{Root: root, Limits: wide}}
			one.bound(&r.Limits)
			_, err := r.try(t)
			var limit *LimitError
			if one.want == nil && err != nil || one.want != nil && (!errors.As(err, &limit) || !errors.Is(err, one.want)) {
				t.Errorf("%v, want %v", err, one.want)
			}
		})
	}
}

// The limits are about what is new: unchanged files of any size and number count nothing.
func TestLimitsDoNotCountKnownFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 20 {
		write(t, root, fmt.Sprint("d/", i), strings.Repeat("x", 100))
	}
	write(t, root, "large", strings.Repeat("y", 3000))
	first := &reading{Request: Request{Root: root}}
	known := first.learn(first.run(t))
	for i := range known { // as of the tree that a workspace began with
		known[i].Sum, known[i].Signature = Sum{}, Signature{}
	}
	tight := Limits{Files: 1, Bytes: 100, FileSize: 100, Large: 3000, Entries: 100, Depth: 5}
	again := &reading{Request: Request{Root: root, Limits: tight}, known: known}
	got := again.run(t)
	if len(got.files)+len(got.deleted)+len(got.leftOut) != 0 || len(got.same) != 21 {
		t.Errorf("%d files, %d the same, left out %v", len(got.files), len(got.same), got.leftOut)
	}

	// The size is known now: the file of another size is not read at all.
	must(t, os.Truncate(filepath.Join(root, "large"), 1<<40))
	third := &reading{Request: Request{Root: root, Limits: tight}, known: again.learn(got)}
	got = third.run(t)
	if len(got.files)+len(got.deleted) != 0 || got.leftOut["large"] != TooLarge {
		t.Errorf("%d files, deleted %v, left out %v", len(got.files), got.deleted, got.leftOut)
	}
}

func TestAGrowingFileIsOneOfItsStates(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "f", "begin")
	file, err := os.OpenFile(filepath.Join(root, "f"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer file.Close()
	r := &reading{Request: Request{Root: root}, now: later, step: func() { _, _ = file.WriteString("+") }}
	got := r.run(t)
	if content := got.files["f"]; !strings.HasPrefix(content, "begin+") {
		t.Errorf("read %q, left out %v", content, got.leftOut)
	}
}

func TestWhatCannotBeReadKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "d/e/f", "x")
	write(t, root, "g", "x")
	first := &reading{Request: Request{Root: root}}
	known := first.learn(first.run(t))
	for _, name := range []string{"d/e", "g"} {
		must(t, os.RemoveAll(filepath.Join(root, name)))
		must(t, unix.Mkfifo(filepath.Join(root, name), 0o644))
	}
	got := (&reading{Request: Request{Root: root}, known: known}).run(t)
	if len(got.deleted) != 0 || len(got.leftOut) != 2 {
		t.Errorf("deleted %v, left out %v", got.deleted, got.leftOut)
	}
}

func TestOnlyTheBeginningOfTheListOfWhatWasLeftOutIsTold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range maxLeftOut + 10 {
		must(t, unix.Mkfifo(filepath.Join(root, fmt.Sprint(i)), 0o644))
	}
	if got := (&reading{Request: Request{Root: root}}).run(t); len(got.leftOut) != maxLeftOut {
		t.Errorf("%d were told", len(got.leftOut))
	}
}
