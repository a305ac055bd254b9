package private_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"bellhop/internal/private"
)

// mounted names the folder of a process that mounts file systems in its own namespace.
const mounted = "PRIVATE_TEST_MOUNTED"

// Kubernetes and Docker mount secrets read-only, Podman and Swarm in memory with files that nobody may write. Folders
// above are open to all users of a container.
func TestAMountOfSecretsKeepsOthersOut(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(mounted)
	if folder == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAMountOfSecretsKeepsOthersOut$") //nolint:gosec // this test itself
		folder, err := os.MkdirTemp("", "mounts")
		must(t, err)
		defer func() { must(t, os.RemoveAll(folder)) }()
		must(t, os.Chmod(folder, 0o755)) //nolint:gosec // that others enter
		cmd.Env = append(os.Environ(), mounted+"="+folder)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	must(t, syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=755"))
	file := filepath.Join(folder, "keyset")
	check := func(mode os.FileMode, guard string) {
		t.Helper()
		if got, err := private.ExposureOf(file); err != nil || got != (private.Exposure{Mode: mode, Guard: guard}) {
			t.Errorf("%+v, %v; want %o, %q", got, err, mode, guard)
		}
	}
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	must(t, os.Chmod(file, 0o644)) //nolint:gosec // the subject
	check(0o644, "")
	must(t, os.Chmod(file, 0o444)) //nolint:gosec // the subject
	check(0o444, "its mount")
	must(t, os.Chmod(file, 0o644)) //nolint:gosec // the subject
	must(t, syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	check(0o644, "its mount")
}
