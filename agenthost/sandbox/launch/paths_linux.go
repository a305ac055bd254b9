package launch

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// systemPaths can be read by every program. Missing ones are ignored.
var systemPaths = []string{
	"/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap",
	"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
	"/var/lib/ca-certificates",
}

// privateEntries are the names below /etc that hold secrets, or lead to them. All
// other entries can be read.
var privateEntries = []string{
	"shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "security", "ssh", "krb5.keytab", "machine-id",
	"NetworkManager", "wireguard", "openvpn", "docker", "kubernetes", "rancher", "bellhop",
	"credstore", "credstore.encrypted",
}

// devices can be used by every program.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
}

// groupMount is where control groups are.
const groupMount = "/sys/fs/cgroup"

// The limits of version 1, and the files of a group with those of version 2.
var (
	oldLimits = []string{
		groupMount + "/memory/memory.limit_in_bytes", groupMount + "/cpu/cpu.cfs_quota_us",
		groupMount + "/cpu/cpu.cfs_period_us",
	}
	limitFiles = []string{"memory.max", "memory.high", "cpu.max"}
)

// groupPaths returns what a program can read of control groups: the limits that hold for it, by which runtimes choose
// the size of their memory, and the groups of its own session. A directory with further groups would name all sessions.
func groupPaths(spec Spec) []string {
	dir, paths := path.Dir(spec.Group), slices.Clone(oldLimits)
	if spec.Group == "" {
		dir = path.Join(groupMount, ownGroup())
	}
	if spec.Group != "" || !hasDirectories(dir) {
		paths = append(paths, dir)
	}
	for ; contains(groupMount, dir); dir = path.Dir(dir) {
		for _, name := range limitFiles {
			paths = append(paths, path.Join(dir, name))
		}
	}
	return paths
}

// ownGroup returns the name of this process's control group, "/" if it cannot be found.
func ownGroup() string {
	content, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && !strings.HasPrefix(name, "/..") {
			return name
		}
	}
	return "/"
}

func hasDirectories(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, os.DirEntry.IsDir)
}

// systemFiles returns all that can be read on every system: directories, and /etc
// without its private entries.
func systemFiles() []string {
	paths := slices.Clone(systemPaths)
	entries, _ := os.ReadDir("/etc")
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() && name == "ssl" {
			paths = append(paths, "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem")
			continue
		}
		if !slices.Contains(privateEntries, name) {
			paths = append(paths, "/etc/"+name)
		}
	}
	return append(paths, resolverPaths()...)
}

// resolverPaths returns the file that /etc/resolv.conf leads to, which a service of
// the system may write elsewhere.
func resolverPaths() []string {
	real, err := realPath("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	return []string{real}
}

// realPath returns where a path leads, as filepath.EvalSymlinks does. That package is initialized too late for this one.
func realPath(name string) (string, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
}

// contains reports whether an absolute path is dir or below it.
func contains(dir, name string) bool {
	dir, name = path.Clean(dir), path.Clean(name)
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
