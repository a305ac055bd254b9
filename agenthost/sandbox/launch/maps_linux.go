package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"bellhop/internal/owner"
)

// A program with a user id of its own cannot use files of other users, such as a login of root or the
// directory of a project that is used in place. In its view of the file system they can be shown as its
// own: a mount translates their owner, and files that the program makes there get that owner.

// openMaps sets spec.Mapped to the owners that have to be translated, and returns a user namespace for
// each, which the kernel takes the translation from.
func openMaps(spec *Spec) ([]*os.File, error) {
	if spec.User == nil {
		return nil, nil
	}
	spec.Mapped = nil
	add := func(paths []string, write bool) {
		for _, path := range paths {
			info, err := os.Stat(path)
			if err == nil && !CanUse(info, *spec.User, write) && !slices.Contains(spec.Mapped, owner.Of(info)) {
				spec.Mapped = append(spec.Mapped, owner.Of(info))
			}
		}
	}
	add(spec.Read, false)
	add(spec.Write, true)
	var files []*os.File
	for _, from := range spec.Mapped {
		file, err := openMap(from, *spec.User)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// firstMap returns the descriptor of the first user namespace in the init.
func firstMap(spec Spec) int {
	if spec.Network {
		return initControl + 1
	}
	return initControl
}

// mapFor returns the descriptor of the user namespace that a tree needs, 0 for none.
func mapFor(spec Spec, path string, writable bool) int {
	info, err := os.Stat(path)
	if spec.User == nil || err != nil || slices.Contains(systemPaths, path) || CanUse(info, *spec.User, writable) {
		return 0
	}
	if i := slices.Index(spec.Mapped, owner.Of(info)); i >= 0 {
		return firstMap(spec) + i
	}
	return 0
}

func closeMaps(spec Spec) {
	for i := range spec.Mapped {
		_ = unix.Close(firstMap(spec) + i)
	}
}

// showAsOwn sets attributes of a new mount with the translation of owners.
func showAsOwn(fd, userNamespace int, flags uint, attr *unix.MountAttr) error {
	attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
	attr.Userns_fd = uint64(userNamespace) //nolint:gosec // a descriptor
	err := unix.MountSetattr(fd, "", flags, attr)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: %w", errCannotShow, err)
	}
	return err
}

var errCannotShow = errors.New("its file system cannot show it as another user's; give it to the agents' user, " +
	"or set 'user: host' under sandbox")

// openMap makes a user namespace that translates one owner into the user. A process that never runs holds
// it until it is open.
func openMap(from, to owner.ID) (*os.File, error) {
	runtime.LockOSThread() // the thread that starts a traced process is its tracer
	defer runtime.UnlockOSThread()
	held, err := os.StartProcess("/proc/self/exe", []string{Command}, &os.ProcAttr{
		Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, Ptrace: true, Pdeathsig: syscall.SIGKILL,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: from.UID, HostID: to.UID, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: from.GID, HostID: to.GID, Size: 1}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("translate owners: %w", err)
	}
	defer func() {
		_ = held.Kill()
		_, _ = held.Wait()
	}()
	file, err := os.Open("/proc/" + strconv.Itoa(held.Pid) + "/ns/user")
	if err != nil {
		return nil, fmt.Errorf("translate owners: %w", err)
	}
	return file, nil
}

// CanShow returns an error if files at a path cannot be shown to a user as its own.
func CanShow(path string, to owner.ID) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	names, err := openMap(owner.Of(info), to)
	if err != nil {
		return err
	}
	defer names.Close()
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return showAsOwn(fd, int(names.Fd()), unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{})
}
