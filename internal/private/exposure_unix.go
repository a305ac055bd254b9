//go:build unix

package private

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// rootID owns the files of packages and of mounted secrets.
const rootID = 0

// ExposureOf describes who else can open a file by its mode. It returns the zero value if nobody can, and for what is no
// file, such as a pipe.
func ExposureOf(path string) (Exposure, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || !allows(info, others) {
		return Exposure{}, err
	}
	e := Exposure{Mode: info.Mode().Perm()}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return e, err
	}
	e.Guard = closedFolder(real)
	if e.Guard == "" && isSecretMount(path, info) {
		e.Guard = "its mount"
	}
	return e, nil
}

// allows reports whether a mode gives others one of the rights in bits. A file of root may be for its group: so packages
// give a service its secrets.
func allows(info fs.FileInfo, bits fs.FileMode) bool {
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == rootID {
		bits &^= 0o050
	}
	return info.Mode().Perm()&bits != 0
}

// closedFolder returns the folder above a path that others cannot enter, or "".
func closedFolder(path string) string {
	for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err == nil && !allows(info, 0o011) {
			return fmt.Sprintf("its folder %s", folder)
		}
		if folder == filepath.Dir(folder) {
			return ""
		}
	}
}

// isSecretMount reports whether a file is on a mount for secrets: a read-only one, as Kubernetes and Docker make them,
// or one in memory with a file that nobody may write, as Podman and Swarm do.
func isSecretMount(path string, info fs.FileInfo) bool {
	const (
		readOnly  = 0x1 // ST_RDONLY of Linux, MNT_RDONLY of BSD
		tmpfs     = 0x01021994
		ramfs     = 0x858458f6
		anyWrites = 0o222
	)
	var mount syscall.Statfs_t
	if syscall.Statfs(path, &mount) != nil {
		return false
	}
	kind := uint32(mount.Type) //nolint:gosec // a magic number
	return mount.Flags&readOnly != 0 || (kind == tmpfs || kind == ramfs) && info.Mode().Perm()&anyWrites == 0
}
