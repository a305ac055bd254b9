package treereader

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Limits of what is read of a repository, in bytes.
const (
	maxIndexFile = 128 << 20
	maxRefFile   = 16 << 20
	maxRules     = 1 << 20
	maxLooseFile = 4 << 10
	maxGitFile   = 16 << 10
	maxSymbolic  = 5 // refs that name other refs
)

// repository is the git directory of a work tree, or of a repository inside it.
type repository struct {
	directory
	hashSize int
}

// readIndex returns the tracked names, on request with the ids of all. ok is false if the index cannot be read; a missing one is empty, as for git.
func (r repository) readIndex(withIDs bool) (entries []tracked, ok bool) {
	data, err := r.read("index", maxIndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	if err != nil {
		return nil, false
	}
	x, err := parseIndex(data, r.hashSize, withIDs)
	if err != nil {
		return nil, false
	}
	if x.shared != nil && x.shared.id != "" {
		if data, err = r.read("sharedindex."+x.shared.id, maxIndexFile); err != nil {
			return nil, false
		}
		shared, err := parseIndex(data, r.hashSize, withIDs)
		if err != nil || !x.merge(shared) {
			return nil, false
		}
	}
	return x.sorted(), true
}

// reftableHead is what HEAD names where refs are in tables, which the reader does not know.
const reftableHead = "refs/heads/.invalid"

// head returns the branch that HEAD names, or "", and its commit, or "".
func (r repository) head() Head {
	content, err := r.read("HEAD", maxLooseFile)
	if err != nil {
		return Head{}
	}
	line := strings.TrimSpace(string(content))
	branch, isSymbolic := strings.CutPrefix(line, "ref: ")
	if !isSymbolic {
		return Head{Commit: r.id(line)}
	}
	branch = strings.TrimSpace(branch)
	if !isRef(branch) || branch == reftableHead {
		return Head{}
	}
	return Head{Ref: branch, Commit: r.commit(branch)}
}

// commit returns the object of a ref, or "".
func (r repository) commit(ref string) string {
	for range maxSymbolic {
		line := r.loose(ref)
		if line == "" {
			return r.packed(ref)
		}
		next, isSymbolic := strings.CutPrefix(line, "ref: ")
		if !isSymbolic {
			return r.id(line)
		}
		if ref = strings.TrimSpace(next); !isRef(ref) {
			break
		}
	}
	return ""
}

func isRef(name string) bool {
	return strings.HasPrefix(name, "refs/") && path.Clean(name) == name && IsPath(name)
}

// id returns a line if it is the id of an object, else "".
func (r repository) id(line string) string {
	if b, err := hex.DecodeString(line); err != nil || len(b) != r.hashSize {
		return ""
	}
	return line
}

// loose returns the content of the file of a ref.
func (r repository) loose(ref string) string {
	dir, name := path.Split(ref)
	parent, err := r.openPath(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return ""
	}
	defer parent.close()
	content, err := parent.read(name, maxLooseFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

func (r repository) packed(ref string) string {
	content, err := r.read("packed-refs", maxRefFile)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(content) {
		if id, name, ok := strings.Cut(strings.TrimSpace(string(line)), " "); ok && name == ref {
			return r.id(id)
		}
	}
	return ""
}

// nestedCommit returns the commit of a repository in a directory at path, "" if it cannot be read.
func (w *walker) nestedCommit(dir directory, path string) (id string, isRepository bool) {
	git, err := dir.open(".git")
	if err != nil {
		target, ok := w.gitFile(dir, path)
		if !ok {
			return "", false
		}
		if target == "" {
			return "", true
		}
		if git, err = w.root.openPath(target); err != nil {
			return "", true
		}
	}
	defer git.close()
	for _, name := range []string{"objects", "refs"} {
		if e, err := git.entry(name); err != nil || e.kind != KindDirectory && e.kind != KindLink {
			return "", false
		}
	}
	if e, err := git.entry("HEAD"); err != nil || e.kind != KindFile {
		return "", false
	}
	return repository{git, w.request.HashSize}.head().Commit, true
}

// gitFile returns the path, in the tree, that a file ".git" names. A path outside becomes "", which cannot be opened.
func (w *walker) gitFile(dir directory, at string) (target string, ok bool) {
	content, err := dir.read(".git", maxGitFile)
	if err != nil {
		return "", false
	}
	if target, ok = strings.CutPrefix(string(content), "gitdir: "); !ok {
		return "", false
	}
	target = strings.TrimRight(target, "\r\n")
	if path.IsAbs(target) {
		inside, ok := strings.CutPrefix(path.Clean(target), strings.TrimSuffix(w.request.Root, "/")+"/")
		if !ok {
			return "", true
		}
		return inside, true
	}
	return path.Join(at, target), true
}
