package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// viewRoot is where the view is built before it becomes the root. It covers the machine's
// /tmp, so all trees are opened before it is mounted.
const viewRoot = "/tmp"

// tree is a copy of a directory or file of the machine, on its way into the view.
type tree struct {
	path      string
	writable  bool
	directory bool
	link      string // where a symbolic link leads; "" = it is none
	fd        int
	mapped    int // descriptor of a user namespace that shows the files as the program's own; 0 = none
}

// makeView gives this process a file system that holds only what the spec names: no
// other files, sockets, processes and terminals can be found in it.
func makeView(spec Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	trees, err := openTrees(spec)
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", viewRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m"); err != nil {
		return fmt.Errorf("mount the view: %w", err)
	}
	if err := errors.Join(makeDevices(), makeProcesses()); err != nil {
		return err
	}
	for _, t := range trees {
		if err := t.attach(); err != nil {
			return fmt.Errorf("mount %s: %w", t.path, err)
		}
	}
	return enterView()
}

// openTrees opens all trees, the outer ones first. It leaves out a tree inside another
// one that is as writable.
func openTrees(spec Spec) ([]*tree, error) {
	var trees []*tree
	add := func(name string, writable bool) {
		trees = append(trees, &tree{path: path.Clean(name), writable: writable})
	}
	for _, name := range slices.Concat(systemPaths, []string{"/etc"}, resolverPaths(), groupPaths(spec), spec.Read) {
		add(name, false)
	}
	for _, name := range spec.Write {
		add(name, true)
	}
	for _, t := range slices.Clone(trees) { // where links lead
		if real, err := realPath(t.path); err == nil && real != t.path {
			add(real, t.writable)
		}
	}
	slices.SortStableFunc(trees, func(a, b *tree) int { return strings.Compare(a.path, b.path) })
	var opened []*tree
	for _, t := range trees {
		if slices.ContainsFunc(opened, func(outer *tree) bool { return outer.covers(t) }) {
			continue
		}
		t.mapped = mapFor(spec, t.path, t.writable)
		switch err := t.open(); {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			continue
		case err != nil:
			return nil, fmt.Errorf("open %s: %w", t.path, err)
		}
		opened = append(opened, t)
	}
	closeMaps(spec)
	return withTemporary(opened, spec.Private)
}

// withTemporary puts the session's directory for temporary files at /tmp, before the
// trees that lie there.
func withTemporary(trees []*tree, private string) ([]*tree, error) {
	if private == "" {
		return trees, nil
	}
	t := &tree{path: private, writable: true}
	if err := t.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", private, err)
	}
	t.path = "/tmp"
	return slices.Insert(trees, 0, t), nil
}

// covers reports whether a later tree adds nothing.
func (t *tree) covers(later *tree) bool {
	return t.link == "" && contains(t.path, later.path) && (t.writable || !later.writable)
}

// open copies the tree with the mounts in it. Devices and setuid programs have
// no effect in the copy. A program of the session can exchange the name meanwhile, so what it is
// is asked of the copy, and no link is followed.
func (t *tree) open() (err error) {
	t.fd, err = unix.OpenTree(unix.AT_FDCWD, t.path,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(t.fd, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		t.directory = true
	case unix.S_IFLNK:
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(t.fd, "", target)
		t.link = string(target[:max(n, 0)])
		return errors.Join(err, unix.Close(t.fd))
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if !t.writable {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	flags := uint(unix.AT_EMPTY_PATH | unix.AT_RECURSIVE)
	if t.mapped != 0 {
		return showAsOwn(t.fd, t.mapped, flags, attr)
	}
	return unix.MountSetattr(t.fd, "", flags, attr)
}

// attach puts the tree into the view.
func (t *tree) attach() error {
	target := path.Join(viewRoot, t.path)
	if err := os.MkdirAll(path.Dir(target), 0o755); err != nil { //nolint:gosec // the view's directories hold nothing
		return err
	}
	if t.link != "" {
		err := os.Symlink(t.link, target)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	defer func() { _ = unix.Close(t.fd) }()
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		if err := makeTarget(target, t.directory); err != nil {
			return err
		}
	}
	return unix.MoveMount(t.fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func makeTarget(target string, directory bool) error {
	if directory {
		return os.Mkdir(target, 0o755) //nolint:gosec // as above
	}
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// makeDevices makes /dev: a few devices of the machine, and terminals and shared
// memory of the view's own.
func makeDevices() error {
	dev := viewRoot + "/dev"
	if err := errors.Join(
		os.MkdirAll(dev+"/pts", 0o755), os.MkdirAll(dev+"/shm", 0o755), //nolint:gosec // as above
	); err != nil {
		return err
	}
	for _, device := range devices {
		if strings.HasPrefix(device, "/dev/pt") {
			continue
		}
		target := viewRoot + device
		if err := makeTarget(target, false); err != nil {
			return err
		}
		if err := unix.Mount(device, target, "", unix.MS_BIND, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mount %s: %w", device, err)
		}
	}
	if err := unix.Mount(
		"devpts", dev+"/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620",
	); err != nil {
		return fmt.Errorf("mount /dev/pts: %w", err)
	}
	if err := unix.Mount("tmpfs", dev+"/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=25%"); err != nil {
		return fmt.Errorf("mount /dev/shm: %w", err)
	}
	var err error
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		err = errors.Join(err, os.Symlink(target, path.Join(dev, name)))
	}
	return err
}

// makeProcesses makes /proc, which shows the processes of the namespace only.
func makeProcesses() error {
	proc := viewRoot + "/proc"
	if err := os.Mkdir(proc, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// enterView makes the view the root, read-only, and detaches the machine's root.
func enterView() error {
	if err := os.Chdir(viewRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("close the view: %w", err)
	}
	return os.Chdir("/")
}
