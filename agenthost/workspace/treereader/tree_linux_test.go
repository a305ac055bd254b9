package treereader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ask serves a directory for as long as do asks about it. It returns all answers as they were written.
func ask(t testing.TB, root string, step func(), do func(tree *Tree)) []byte {
	t.Helper()
	return askAt(t, root, time.Now, step, do)
}

// askAt is ask with a clock.
func askAt(t testing.TB, root string, now func() time.Time, step func(), do func(tree *Tree)) []byte {
	t.Helper()
	if step == nil {
		step = func() {}
	}
	questions, to := io.Pipe()
	from, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := serveTree(questions, answers, now, step)
		ended <- errors.Join(err, answers.Close(), questions.Close())
	}()
	var raw bytes.Buffer
	do(NewTree(to, io.TeeReader(from, &raw), &TreeRequest{Root: root, HashSize: 20}))
	must(t, to.Close())
	must(t, <-ended)
	return raw.Bytes()
}

func TestATreeAnswersQuestions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	shell(t, root, "git init -q; printf 'o/\\n*.tmp\\n!k.tmp\\n' >.gitignore; mkdir -p d/e o empty n; echo 12345 >d/f; echo x >d/e/x; "+
		"echo x >o/x; echo x >a.tmp; echo x >k.tmp; ln -s /etc l; ln -s d dl; mkfifo p; echo t >o/tracked; git add -f o/tracked; "+
		"echo x >n/x.tmp; chmod 600 d/f")
	ask(t, root, nil, func(tree *Tree) {
		entries, isCut, err := tree.List("", 100)
		must(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, fmt.Sprintf("%s:%d", e.Name, e.Kind))
		}
		if got := strings.Join(names, " "); isCut ||
			got != ".git:2 .gitignore:1 a.tmp:1 d:2 dl:3 empty:2 k.tmp:1 l:3 n:2 o:2 p:4" {
			t.Errorf("listed %s, cut %t", got, isCut)
		}
		if entries, isCut, err := tree.List("", 3); len(entries) != 3 || !isCut || err != nil {
			t.Errorf("cut to %v, %t, %v", entries, isCut, err)
		}
		for path, want := range map[string]string{
			"d/f": "234", "l": "/etc", "d": "", "p": "", "d/gone": "gone", "d/f/x": "gone", "dl/f": "link", "l/passwd": "link",
			strings.Repeat("n", 300): "gone", strings.Repeat("n", 3000): "gone", "d/../d/f": "in use",
		} {
			_, content, err := tree.Read(Part{Path: path, Offset: 1, Limit: 3})
			got, f := string(content), (*Failure)(nil)
			if errors.As(err, &f) {
				got = [...]string{"gone", "link", "in use", "closed"}[f.Why]
			}
			if got != want {
				t.Errorf("read %.20q: %q, %v", path, got, err)
			}
		}
		if e, content, err := tree.Read(Part{Path: "d/f", Limit: 5, IsWhole: true}); err != nil || len(content) > 0 || e.Size != 6 {
			t.Errorf("a larger file: %+v %q %v", e, content, err)
		}
		names = []string{".gitignore", "a.tmp", "k.tmp", "d", "o", "empty", "n", "l", "p", "gone"}
		ignored, err := tree.Ignored("", names)
		must(t, err)
		if got := fmt.Sprint(ignored); got != fmt.Sprint([]bool{1: true, 6: true, 9: false}) {
			t.Errorf("ignored: %s of %v", got, names)
		}
		ignored, err = tree.Ignored("o", []string{"tracked", "x"})
		must(t, err)
		if ignored[0] || !ignored[1] {
			t.Errorf("ignored in an ignored directory: %v", ignored)
		}
		var read []string
		parts := make([]Part, 5000)
		for i := range parts {
			parts[i] = Part{Path: "d/f", Limit: 10}
		}
		must(t, tree.ReadEach(parts, func(_ int, _ Entry, content []byte, err error) error {
			read = append(read, string(content))
			return err
		}))
		if len(read) != len(parts) || read[4999] != "12345\n" {
			t.Errorf("read %d files", len(read))
		}
		if size, err := tree.Size(); err != nil || size < 6 {
			t.Errorf("%d bytes, %v", size, err)
		}
	})
	ask(t, root+"/gone", nil, func(tree *Tree) {
		if _, _, err := tree.List("", 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without a directory: %v", err)
		}
	})
}

// Names are exchanged at the reader's own steps, between all that a host asks.
func TestATreeIsNotLeft(t *testing.T) {
	t.Parallel()
	at := hostileTree(t)
	for i := range 20 * len(exchanges) {
		pair := exchanges[i%len(exchanges)]
		every := 1 + rand.IntN(4)
		steps, offset, isExchanged := 0, rand.IntN(every), false
		raw := ask(t, at(""), func() {
			if steps++; steps%every == offset && exchange(at(pair[0]), at(pair[1])) == nil {
				isExchanged = !isExchanged
			}
		}, func(tree *Tree) {
			for _, dir := range []string{"", "d", "d/e", ".git", ".git/refs", "n"} {
				_, _, err := tree.List(dir, 100)
				mustAnswer(t, err)
				_, err = tree.Ignored(dir, []string{"s", "f", "d", "e", "main"})
				mustAnswer(t, err)
			}
			for _, name := range []string{"d/s", "f", "d/e/s", "d/a1", ".git/HEAD", ".git/index", "secret", "zero", "fifo", "n/.git"} {
				_, _, err := tree.Read(Part{Path: name, Limit: 1 << 20})
				mustAnswer(t, err)
			}
		})
		if isExchanged {
			must(t, exchange(at(pair[0]), at(pair[1])))
		}
		if bytes.Contains(raw, []byte(secret)) || bytes.Contains(raw, make([]byte, 4096)) {
			t.Fatalf("%v every %d steps: the answers have what is outside", pair, every)
		}
	}
}

func mustAnswer(t testing.TB, err error) {
	t.Helper()
	if f := (*Failure)(nil); err != nil && !errors.As(err, &f) {
		t.Fatal(err)
	}
}

func TestATreeIsRemoved(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), t.TempDir()
	write(t, outside, "s", secret)
	shell(t, root, "mkdir -p a/b/c; touch a/f a/b/c/g; ln -s "+outside+" l; ln -s "+outside+"/s a/k; mkfifo p; chmod 500 a/b; chmod 0 a/b/c; "+
		"for i in $(seq 3); do d=deep; for j in $(seq 200); do d=$d/dddd; done; mkdir -p $d; cd $d; done; touch last")
	ask(t, root, nil, func(tree *Tree) { must(t, tree.RemoveAll()) })
	if got := list(t, root); got != "" {
		t.Errorf("left: %s", got)
	}
	if got := list(t, outside); !strings.Contains(got, secret) {
		t.Errorf("outside: %s", got)
	}
}

// While names are exchanged, nothing outside is removed.
func TestARemovalDoesNotLeaveTheTree(t *testing.T) {
	t.Parallel()
	for i := range 60 {
		outside, root := t.TempDir(), t.TempDir()
		write(t, outside, "e/s", secret)
		shell(t, root, "mkdir -p d/e x; touch d/e/s d/f x/s; ln -s "+outside+" l; ln -s "+outside+"/e d/k; ln -s "+outside+"/e x/k")
		pair := [][2]string{{"d", "l"}, {"d/e", "d/k"}, {"d/e", "l"}, {"x", "l"}, {"x", "d/k"}}[i%5]
		steps, every := 0, 1+i%4
		ask(t, root, func() {
			if steps++; steps%every == 0 {
				_ = exchange(filepath.Join(root, pair[0]), filepath.Join(root, pair[1]))
			}
		}, func(tree *Tree) { mustAnswer(t, tree.RemoveAll()) })
		if got := list(t, outside); !strings.Contains(got, "e/s 644 "+secret) {
			t.Fatalf("%v: outside is %q", pair, got)
		}
	}
}

// A removal ends beside a program that goes on making files and directories.
func TestARemovalEndsBesideAProgramThatMakesFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, at := range []string{"", "a", "a/b/c"} {
		ctx, stop := context.WithCancel(t.Context())
		ended, begun := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for i := 0; ctx.Err() == nil; i++ {
				if i == 1000 {
					close(begun)
				}
				dir := filepath.Join(root, at, fmt.Sprint("d", i%3000)) // so many at most, also on a slow machine
				_ = os.MkdirAll(dir, 0o755)
				_ = os.WriteFile(filepath.Join(dir, "f"), nil, 0o644)
			}
		}()
		<-begun
		ask(t, root, nil, func(tree *Tree) {
			for range 2 {
				mustAnswer(t, tree.RemoveAll())
			}
		})
		stop()
		<-ended
		ask(t, root, nil, func(tree *Tree) { must(t, tree.RemoveAll()) })
		if got := list(t, root); got != "" {
			t.Errorf("left: %s", got)
		}
	}
}

// A large tree on a slow disk takes its time: only what is filled again is in use.
func TestARemovalMayTakeLong(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	shell(t, root, "mkdir -p a/b c; touch a/f a/b/g c/h i")
	at := time.Unix(0, 0)
	slow := func() time.Time {
		at = at.Add(removalTime)
		return at
	}
	askAt(t, root, slow, func() { slow() }, func(tree *Tree) { must(t, tree.RemoveAll()) })
	if got := list(t, root); got != "" {
		t.Errorf("left: %s", got)
	}
}

// What cannot be removed is named, and the rest is removed.
func TestARemovalNamesWhatStays(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a/f", "x")
	write(t, root, "z", "x")
	steps := 0
	ask(t, root, func() { // a program makes the directory again before each removal of it
		if steps++; steps < 500 {
			_ = unix.Mkdir(filepath.Join(root, "a"), 0o755)
			_ = unix.Mknod(filepath.Join(root, "a/f"), syscall.S_IFREG|0o644, 0)
		}
	}, func(tree *Tree) {
		f := (*Failure)(nil)
		if err := tree.RemoveAll(); !errors.As(err, &f) || f.Why != IsInUse {
			t.Errorf("%v", err)
		}
	})
	if got := list(t, root); !strings.HasPrefix(got, "a/") || strings.Contains(got, "z") {
		t.Errorf("left: %s", got)
	}
}

// The host takes no answer that a process can only make up.
func TestAnswersOfATreeAreChecked(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing":          "",
		"another frame":    "x",
		"a long list":      "e\x00\xff\xff\xff\xff\x0f",
		"more than wanted": "e\x00\x03\x01a\x01\x01\x01\x01b\x01\x01\x01\x01c\x01\x01\x01",
		"a name outside":   "e\x00\x01\x02..\x01\x01\x01",
		"a path":           "e\x00\x01\x03a/b\x01\x01\x01",
		"an unknown kind":  "e\x00\x01\x01a\x7f\x01\x01",
		"an unknown cause": "r\x01a\x7f",
	} {
		tree := NewTree(io.Discard, strings.NewReader(answer), &TreeRequest{})
		if _, _, err := tree.List("", 2); !errors.Is(err, errWire) {
			t.Errorf("%s: %v", name, err)
		}
	}
	tree := NewTree(io.Discard, strings.NewReader("e\x01a\x01\x09\x01\x09123456789"), &TreeRequest{})
	if _, content, err := tree.Read(Part{Path: "a", Limit: 8}); !errors.Is(err, errWire) || len(content) > 8 {
		t.Errorf("more content than wanted: %q, %v", content, err)
	}
}
