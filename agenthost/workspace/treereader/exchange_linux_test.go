package treereader

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

const secret = "SECRET-1b5c"

// exchanges are pairs of names that a hostile program exchanges. "outside" is a link to a directory with secrets.
var exchanges = [][2]string{
	{"d", "outside"},
	{"d/e", "d/outside"},
	{"f", "secret"},
	{"d/.gitignore", "d/rules"},
	{"f", "fifo"},
	{"d/s", "fifo"},
	{"f", "zero"},
	{"d", "x"},
	{"d", "f"},
	{".git", "outside"},
	{".git", "fifo"},
	{"d/.gitignore", "fifo"},
	{"d", "fifo"},
	{".git/index", "fifo"},
	{".git/index", "secret"},
	{".git/HEAD", "secret"},
	{"n/.git", "outside"},
	{"n/.git", "f"},
	{"d/e", "fifo"},
	{"f", "link"},
	{"link", "secret"},
	{".gitattributes", "secret"},
	{".gitmodules", "secret"},
	{".gitmodules", "fifo"},
}

// hostileTree makes a tree for the exchanges. The reader has the rights to read what its links lead to.
func hostileTree(t *testing.T) (at func(name string) string) {
	t.Helper()
	outside, root := t.TempDir(), t.TempDir()
	for _, name := range []string{"s", "a1", ".gitignore", "HEAD", "index", "e/s", "refs/heads/main", "info/exclude"} {
		write(t, outside, name, secret+"\n")
	}
	at = func(name string) string { return filepath.Join(root, name) }
	shell(t, root, "git init -q -b main; mkdir d; echo a>d/a1; git add .; git commit -qm a; git init -q n; git -C n commit -qm n --allow-empty")
	for _, name := range []string{"d/s", "d/e/s", "x/s", "f", "d/.gitignore", ".gitattributes", ".gitmodules"} {
		write(t, root, name, "inside\n")
	}
	for name, target := range map[string]string{
		"outside": outside, "d/outside": outside, "secret": outside + "/s", "d/rules": outside + "/.gitignore",
		"zero": "/dev/zero", "link": "f",
	} {
		must(t, os.Symlink(target, at(name)))
	}
	must(t, unix.Mkfifo(at("fifo"), 0o644))
	return at
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// TestExchangedNamesLeadNowhere exchanges names at the reader's own steps, and compares what it reads.
func TestExchangedNamesLeadNowhere(t *testing.T) {
	t.Parallel()
	at := hostileTree(t)
	for i := range 40 * len(exchanges) {
		pair := exchanges[i%len(exchanges)]
		a, b := at(pair[0]), at(pair[1])
		every := 1 + rand.IntN(5)
		steps, offset, isExchanged := 0, rand.IntN(every), false
		r := &reading{Request: Request{Root: at(""), Limits: wide, Submodules: []string{"n"}}, step: func() {
			if steps++; steps%every == offset && exchange(a, b) == nil {
				isExchanged = !isExchanged
			}
		}}
		got, err := r.try(t)
		if isExchanged {
			must(t, exchange(a, b))
		}
		if err != nil {
			t.Fatalf("%v every %d steps: %v", pair, every, err)
		}
		if bytes.Contains(got.raw, []byte(secret)) {
			t.Fatalf("%v every %d steps: the answer has a secret of outside", pair, every)
		}
	}
}

// TestReadingWithLinksLeaks is the control: what follows a link does leak here.
func TestReadingWithLinksLeaks(t *testing.T) {
	t.Parallel()
	at := hostileTree(t)
	must(t, exchange(at("d"), at("outside")))
	content, err := os.ReadFile(at("d/s"))
	must(t, err)
	if !bytes.Contains(content, []byte(secret)) {
		t.Error("the exchanged directory leads to no secret, so that TestExchangedNamesLeadNowhere proves nothing")
	}
}

// Whatever is exchanged with a file at any one step, its content is never told with the signature of another state.
func TestNoSignatureOfAnotherState(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
	for step := range 40 {
		write(t, root, "a", "first")
		write(t, root, "b", "other")
		steps := 0
		r := &reading{Request: Request{Root: root}, now: later, step: func() {
			if steps++; steps == step {
				must(t, exchange(a, b))
			}
		}}
		got := r.run(t)
		known := r.learn(got)
		again := (&reading{Request: Request{Root: root}, known: known, now: later}).run(t)
		for _, path := range []string{"a", "b"} {
			content, err := os.ReadFile(filepath.Join(root, path))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			told, isTold := again.files[path]
			if !isTold {
				told = got.files[path]
			}
			if told != string(content) {
				t.Errorf("step %d: %s is %q, and was told as %q", step, path, content, told)
			}
		}
	}
}
