package treereader

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// What tools make from other files, or fetch, and make again when it is gone. A name counts only if the work tree's lists
// of ignored files have it, too.
var (
	madeDirectories = words(
		// packages
		"node_modules bower_components jspm_packages vendor Pods Carthage deps .venv venv .bundle site-packages .pnpm-store",
		// results of builds
		"target dist build out bin obj _build .next .nuxt .output .svelte-kit .angular .expo .dart_tool .gradle CMakeFiles",
		"DerivedData .build zig-out zig-cache .zig-cache dist-newstyle .stack-work elm-stuff storybook-static .docusaurus",
		".serverless .aws-sam .terraform coverage htmlcov .nyc_output .eggs",
		// caches
		"__pycache__ .cache .parcel-cache .turbo .pytest_cache .mypy_cache .ruff_cache .tox .nox .hypothesis .sass-cache",
		".ipynb_checkpoints .yarn .npm .ccache",
	)
	madeFiles    = words(".eslintcache .stylelintcache .coverage .DS_Store Thumbs.db desktop.ini")
	madeFileEnds = []string{".pyc", ".pyo", ".o", ".obj", ".class", ".tsbuildinfo"}
)

func words(lines ...string) map[string]bool {
	all := map[string]bool{}
	for _, line := range lines {
		for word := range strings.FieldsSeq(line) {
			all[word] = true
		}
	}
	return all
}

// isMadeAgain reports whether a tool makes an ignored file of a name again.
func isMadeAgain(name string) bool {
	return madeFiles[name] || slices.ContainsFunc(madeFileEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

// unkept tells of an ignored file. Other files are in a snapshot, or told with it.
func (w *walker) unkept(name, path string, e entry, isIgnored bool) error {
	switch {
	case !isIgnored, e.kind != KindFile && e.kind != KindLink, isMadeAgain(name), e.kind == KindLink && madeDirectories[name]:
		return nil
	case len(path) > maxPath:
		return w.leaveOut(path, PathTooLong)
	case isRefused(name):
		return w.leaveOut(path, RefusedName)
	}
	return w.name(path, true)
}

// inner tells of a directory that is a repository of its own, whatever its ".git" is, and of the files in the place of a
// submodule's: a snapshot has only the commit.
func (w *walker) inner(dir directory, path string, isSubmodule bool) (isInner bool, err error) {
	_, err = dir.entry(".git")
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isSubmodule:
		return false, nil
	case errors.Is(err, fs.ErrNotExist) && filesBelow(dir, "", 0) == 0:
		return true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return true, w.leaveOut(path, Unreadable)
	}
	if w.names += len(path); w.names > maxNames {
		return true, &LimitError{errEntries}
	}
	return true, w.tell(Inner{path, min(filesBelow(dir, ".git", 0), maxKnown-1)})
}

// filesBelow counts files and links. What cannot be read, or is removed meanwhile, does not count.
func filesBelow(d directory, without string, depth int) (count int) {
	names, _ := d.names(maxListed)
	for _, name := range names {
		e, err := d.entry(name)
		switch {
		case err != nil, name == without:
		case e.kind == KindFile, e.kind == KindLink:
			count++
		case e.kind == KindDirectory && depth < maxRemovalDepth:
			if child, err := d.open(name); err == nil {
				count += filesBelow(child, "", depth+1)
				child.close()
			}
		}
	}
	return count
}

// staged tells of the entries of the index.
func (w *walker) staged() error {
	for i := range w.tracked {
		e := &w.tracked[i]
		if e.mode == ModeTree || !IsPath(e.path) {
			continue
		}
		if w.names += len(e.path); w.names > maxNames {
			return &LimitError{errEntries}
		}
		if err := w.tell(Staged{e.path, e.mode, e.id, e.isHidden}); err != nil {
			return err
		}
	}
	return nil
}
