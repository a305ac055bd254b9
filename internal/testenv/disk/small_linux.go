package disk

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

const (
	namespaceEnv = "BELLHOP_TEST_MOUNTS"
	capSysAdmin  = 21
)

// CanMount reports whether this process may mount. If it may not, CanMount runs the
// test once more in a process of its own that may, in a user namespace, reports its
// result as the test's, and the caller returns.
func CanMount(t *testing.T) bool {
	t.Helper()
	dir := t.TempDir()
	err := mount(dir, 1<<20)
	if err == nil {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
		return true
	}
	if os.Getenv(namespaceEnv) != "" {
		t.Fatalf("no mount in a namespace of its own: %v", err)
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // this test
	again.Env = append(os.Environ(), namespaceEnv+"=1")
	same := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: same(os.Getuid()), GidMappings: same(os.Getgid()),
		AmbientCaps: []uintptr{capSysAdmin},
	}
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("in a user namespace, as this user may not mount: %v\n%s", err, out)
	}
	return false
}

func mount(dir string, size int64) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755,size="+strconv.FormatInt(size, 10))
}

// Small is a real file system of a few MiB in memory.
type Small struct {
	Dir string // short enough for a unix socket

	t      testing.TB
	filler string
}

// NewSmall mounts a file system of size bytes until t ends. CanMount was true before.
func NewSmall(t testing.TB, size int64) *Small {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "bellhop-disk-")
	if err == nil {
		err = mount(dir, size)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(syscall.Unmount(dir, syscall.MNT_DETACH), os.Remove(dir)); err != nil {
			t.Error(err)
		}
	})
	return &Small{Dir: dir, t: t, filler: filepath.Join(dir, "filler")}
}

// Fill writes until no room is left. A later call also fills room that became free.
func (s *Small) Fill() {
	s.t.Helper()
	file, err := os.OpenFile(s.filler, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, piece := range []int{1 << 20, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, piece))
		}
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
			s.t.Fatal(err)
		}
	}
}

// Free gives the room back.
func (s *Small) Free() {
	s.t.Helper()
	if err := os.Remove(s.filler); err != nil {
		s.t.Fatal(err)
	}
}
