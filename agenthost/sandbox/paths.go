package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// systemPaths can be read by every program. Missing ones are ignored.
var systemPaths = []string{
	"/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap",
	"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
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
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	return []string{real}
}

// toolPaths returns what the directories of a PATH need: themselves, and the
// installation around a bin directory, such as that of Go or of Node.js. It never
// returns a home directory or one above it.
func toolPaths(path, home string) []string {
	var paths []string
	for dir := range strings.SplitSeq(path, string(filepath.ListSeparator)) {
		if !filepath.IsAbs(dir) || contains(dir, home) {
			continue
		}
		paths = append(paths, dir)
		parent := filepath.Dir(dir)
		if filepath.Base(dir) == "bin" && !contains(parent, home) && parent != filepath.Join(home, ".local") &&
			isInstallation(parent) {
			paths = append(paths, parent)
		}
	}
	return paths
}

// isInstallation reports whether a directory looks like a program's own: with
// libraries beside the programs.
func isInstallation(dir string) bool {
	return slices.ContainsFunc([]string{"lib", "libexec", "pkg"}, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.IsDir()
	})
}

// interpreters run the file that is their first argument.
var interpreters = []string{"node", "bun", "deno", "python", "python3", "sh", "bash", "dash", "ruby", "perl"}

// programPaths returns what the program of a command line needs: itself, the script
// of an interpreter, the files that they are links to, and the packages around a
// script of Node.js.
func programPaths(args []string, home string) []string {
	files := args[:min(len(args), 1)]
	if len(args) > 1 && slices.Contains(interpreters, filepath.Base(args[0])) {
		files = args[:2]
	}
	var paths []string
	for _, arg := range files {
		if !filepath.IsAbs(arg) {
			continue
		}
		real, err := filepath.EvalSymlinks(arg)
		if err != nil {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		for _, file := range []string{arg, real} {
			paths = append(paths, file)
			if i := strings.Index(file, "/node_modules/"); i > 0 && !contains(file[:i], home) {
				paths = append(paths, file[:i+len("/node_modules")])
			}
		}
	}
	return paths
}

// contains reports whether path is dir or below it.
func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && path != "" && rel != ".." && !strings.HasPrefix(rel, "../")
}
