package workspace

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/protocol"
)

// mirrorRefs writes the agent's HEAD and refs into its mirror. Git would accept more
// than is read here: symbolic refs other than HEAD are left out.
func mirrorRefs(agent *os.Root, dir string) error {
	head, err := readFile(agent, "HEAD", maxLooseRef)
	if err != nil {
		return err
	}
	line := strings.TrimSpace(string(head))
	if name, symbolic := strings.CutPrefix(line, "ref: "); !objectID.MatchString(line) &&
		(!symbolic || !protocol.IsRefName(name)) {
		return protocol.Errorf(protocol.CodeConflict, "The workspace's HEAD names no branch and no commit")
	}
	refs, err := readRefs(agent)
	if err != nil {
		return err
	}
	return errors.Join(
		writeFile(filepath.Join(dir, "packed-refs"), packedRefs(refs)),
		writeFile(filepath.Join(dir, "HEAD"), []byte(line+"\n")),
	)
}

// mirroredRef returns the object of a ref in a mirror, "" if it has no such ref.
func mirroredRef(mirror repository, ref string) (string, error) {
	content, err := os.ReadFile(filepath.Join(mirror.gitDir, "packed-refs"))
	for line := range strings.Lines(string(content)) {
		if id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name == ref {
			return id, nil
		}
	}
	return "", err
}

// readRefs returns the agent's refs with their objects.
func readRefs(agent *os.Root) (map[string]string, error) {
	packed, err := readFile(agent, "packed-refs", maxRefFile)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(packed)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if objectID.MatchString(id) && protocol.IsRefName(name) {
			refs[name] = id
		}
	}
	return refs, readLooseRefs(agent, "refs", refs, 0)
}

// maxRefDepth bounds the directories of refs: a symbolic link of the agent could
// lead to a directory above it.
const maxRefDepth = 32

func readLooseRefs(agent *os.Root, dir string, refs map[string]string, depth int) error {
	names, err := readDir(agent, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := dir + "/" + name
		info, err := agent.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case info.IsDir() && depth < maxRefDepth:
			if err := readLooseRefs(agent, path, refs, depth+1); err != nil {
				return err
			}
		case info.Mode().IsRegular() && protocol.IsRefName(path):
			content, err := readFile(agent, path, maxLooseRef)
			if err != nil {
				return err
			}
			if id := strings.TrimSpace(string(content)); objectID.MatchString(id) {
				refs[path] = id
			}
		}
		if len(refs) > maxRefs {
			return protocol.Errorf(protocol.CodeConflict, "The workspace's repository has over %d refs", maxRefs)
		}
	}
	return nil
}

func packedRefs(refs map[string]string) []byte {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		out.WriteString(refs[name] + " " + name + "\n")
	}
	return []byte(out.String())
}
