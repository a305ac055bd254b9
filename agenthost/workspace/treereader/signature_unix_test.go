//go:build unix

package treereader

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A page that a program has mapped and changed can change again without a new time.
func TestAWriteThroughAMappingIsTold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "m", string(make([]byte, 4096)))
	file, err := os.OpenFile(filepath.Join(root, "m"), os.O_RDWR, 0)
	must(t, err)
	defer file.Close()
	page, err := unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	defer func() { must(t, unix.Munmap(page)) }()
	for round := range 3 {
		page[0] = byte('a' + 2*round) // from here on the page is changed, and its next change has no fault
		first := &reading{Request: Request{Root: root}, now: later}
		known := first.learn(first.run(t))
		page[0]++
		again := (&reading{Request: Request{Root: root}, known: known, now: later}).run(t)
		if content := again.files["m"]; content == "" || content[0] != page[0] {
			t.Errorf("round %d: the second change was not told", round)
		}
	}
}

// testWalker reads a tree of which only the signatures count.
func testWalker(quiet bool) *walker {
	w := &walker{request: &Request{}, settles: true, device: 1}
	if quiet {
		w.request.Fresh = 1
	}
	return w
}

func TestOnlyOldStatesAreSettled(t *testing.T) {
	t.Parallel()
	changed := time.Unix(1000, 5)
	s := Signature{Size: 3, Changed: changed.UnixNano(), Inode: 2, Device: 1}
	for _, c := range []struct {
		name  string
		w     *walker
		s     Signature
		age   time.Duration
		trust bool
	}{
		{"old", testWalker(false), s, 2 * time.Second, true},
		{"young", testWalker(false), s, 2*time.Second - 1, false},
		{"of the future", testWalker(false), s, -time.Hour, false},
		{"young, and no program runs", testWalker(true), s, 0, true},
		{"whole seconds, and no program runs", testWalker(true), Signature{Changed: 1e9, Device: 1}, -changed.Sub(time.Unix(1, 0)), false},
		{"another device", testWalker(true), Signature{Changed: s.Changed, Device: 2}, time.Hour, false},
		{"another file system", &walker{request: &Request{Fresh: 1}, device: 1}, s, time.Hour, false},
	} {
		if got := c.w.settled(c.s, changed.Add(c.age)); (got == c.s) != c.trust {
			t.Errorf("%s: %+v", c.name, got)
		} else if got.Size != c.s.Size {
			t.Errorf("%s: the size is lost", c.name)
		}
	}
}

// A known file costs no read of its content where the file system allows it.
func TestSettledFilesAreNotOpened(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "d/f", "x")
	steps := 0
	count := func() { steps++ }
	first := &reading{Request: Request{Root: root}, now: later, step: count}
	known := first.learn(first.run(t))
	d, err := openDirectory(root, func() {})
	must(t, err)
	defer d.close()
	if isSettled := known[0].Signature.Inode != 0; isSettled != d.settles() {
		t.Errorf("settled %v on a file system where signatures settle: %v", isSettled, d.settles())
	}
	stepsOfFirst := steps
	steps = 0
	got := (&reading{Request: Request{Root: root}, known: known, now: later, step: count}).run(t)
	if len(got.files)+len(got.deleted)+len(got.leftOut) != 0 || (steps < stepsOfFirst) != d.settles() {
		t.Errorf("%d steps after %d, told %v", steps, stepsOfFirst, got)
	}
}
