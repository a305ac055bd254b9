package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bellhop/agenthost/sandbox/launch"
)

// findGroup returns the control group of this process in version 2 of the hierarchy. isRoot means that it
// is the machine's root, which may have processes and groups at once. A group that this process shares with
// others by chance is an error: dividing it would move them.
func findGroup() (dir string, isRoot bool, err error) {
	name := groupOf(readAll("/proc/self/cgroup"))
	mount, root := groupMount(readAll("/proc/self/mountinfo"))
	switch {
	case mount == "" || name == "":
		return "", false, errors.New("this system has no control groups of version 2")
	case strings.HasPrefix(name, "/.."):
		return "", false, errors.New("the host's control group is outside of its container")
	}
	dir = filepath.Join(mount, strings.TrimPrefix(name, strings.TrimSuffix(root, "/")))
	_, err = os.Stat(filepath.Join(dir, "cgroup.type"))
	if errors.Is(err, os.ErrNotExist) {
		return dir, true, nil
	}
	if name != "/" && !isDelegated(dir) {
		return "", false, fmt.Errorf("the host's control group %s is not delegated to it "+
			"(Delegate=yes in its systemd unit)", dir)
	}
	return dir, false, nil
}

// groupMount returns where version 2 of the hierarchy is mounted, and which of its groups is there.
func groupMount(mountinfo string) (mount, root string) {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if ok && strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4], fields[3]
		}
	}
	return "", ""
}

// isDelegated reports whether systemd has marked a group as one that its service may divide.
func isDelegated(dir string) bool {
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

func isNoProcess(err error) bool { return errors.Is(err, unix.ESRCH) }

// runInGroup starts a program that joins a group.
func runInGroup(ctx context.Context, self, path string) error {
	cmd := exec.CommandContext(ctx, self, groupCommand, path)
	var stderr bytes.Buffer
	cmd.Stderr, cmd.SysProcAttr = &stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("a program cannot join a control group: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// tryJoin is the program of runInGroup: it joins a group and checks that it is there.
func tryJoin(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s DIRECTORY", groupCommand)
	}
	if err := launch.JoinGroup(args[0]); err != nil {
		return err
	}
	if !strings.HasSuffix(groupOf(readAll("/proc/self/cgroup")), "/"+filepath.Base(args[0])) {
		return errors.New("the kernel has not moved it")
	}
	return nil
}

// groupOf returns the name of a process's group.
func groupOf(cgroup string) string {
	for line := range strings.Lines(cgroup) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path
		}
	}
	return ""
}
