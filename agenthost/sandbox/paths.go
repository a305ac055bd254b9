package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
