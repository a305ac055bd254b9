package workspace

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// mirrorRefs writes the agent's HEAD and refs into its mirror. Git would accept more
// than is read here: symbolic refs other than HEAD are left out.
func mirrorRefs(agent *tree, dir string) error {
	head, err := agent.readFile("HEAD", maxLooseRef)
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

// mirroredRefs returns the refs of a mirror with their objects.
func mirroredRefs(mirror repository) (map[string]string, error) {
	content, err := os.ReadFile(filepath.Join(mirror.gitDir, "packed-refs"))
	refs := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			refs[name] = id
		}
	}
	return refs, err
}

// readRefs returns the agent's refs with their objects.
func readRefs(agent *tree) (map[string]string, error) {
	packed, err := agent.readFile("packed-refs", maxRefFile)
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
	var loose []treereader.Part
	if err := findLooseRefs(agent, "refs", &loose, 0); err != nil {
		return nil, err
	}
	err = agent.ReadEach(loose, func(i int, e treereader.Entry, content []byte, err error) error {
		switch id := strings.TrimSpace(string(content)); {
		case err != nil:
			return agent.errGitDir(err)
		case e.Kind == treereader.KindFile && e.Size > maxLooseRef:
			return errNotMirrored(loose[i].Path, maxLooseRef)
		case e.Kind == treereader.KindFile && objectID.MatchString(id):
			refs[loose[i].Path] = id
		}
		return nil
	})
	if err == nil && len(refs) > maxRefs {
		err = errManyRefs()
	}
	return refs, agent.explain(err)
}

func errManyRefs() error {
	return protocol.Errorf(protocol.CodeConflict, "The workspace's repository has over %d refs", maxRefs)
}

// maxRefDepth bounds the directories of refs.
const maxRefDepth = 32

func findLooseRefs(agent *tree, dir string, found *[]treereader.Part, depth int) error {
	entries, err := agent.entries(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := dir + "/" + e.Name
		switch {
		case e.Kind == treereader.KindDirectory && depth < maxRefDepth:
			if err := findLooseRefs(agent, path, found, depth+1); err != nil {
				return err
			}
		case e.Kind == treereader.KindFile && protocol.IsRefName(path):
			*found = append(*found, treereader.Part{Path: path, Limit: maxLooseRef, IsWhole: true})
		}
		if len(*found) > maxRefs {
			return errManyRefs()
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
