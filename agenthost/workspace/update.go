package workspace

import (
	"context"
	"path/filepath"
	"strings"

	"bellhop/protocol"
)

// update brings the commits of a project's remote into its clone. Agents can change the settings of a
// clone that is used in place: a proxy, another address for the remote, a program that connects. So git
// fetches in a scratch repository, which has the clone's refs and none of its settings, and writes the
// objects into the clone.
func (m *Manager) update(ctx context.Context, name string, p Project) error {
	src, err := m.findRepository(ctx, p.Path)
	if err != nil {
		return err
	}
	if src == nil {
		return protocol.Errorf(protocol.CodeConflict, "The project %s is no git repository any more", name)
	}
	format, err := m.objectFormat(ctx, src)
	if err != nil {
		return err
	}
	refs, err := m.projectRefs(ctx, src)
	if err != nil {
		return err
	}
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return err
	}
	defer remove()
	if err := m.initBare(ctx, scratch, format); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(scratch, "packed-refs"), packedRefs(refs)); err != nil {
		return err
	}
	if err := m.copyGitFiles(ctx, src, scratch); err != nil {
		return err
	}
	if _, err := m.git.run(ctx, call{
		dir: m.data, noFiles: true, time: fetchTimeout, connects: true,
		repo: repository{gitDir: scratch, objectDir: filepath.Join(src.gitDir, "objects")},
		args: []string{
			"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--upload-pack=git-upload-pack",
			"--end-of-options", p.Clone, "+refs/heads/*:refs/remotes/origin/*",
		},
	}); err != nil {
		return err
	}
	return m.moveRemoteBranches(ctx, &source{gitDir: scratch}, src, refs)
}

// moveRemoteBranches gives a project the remote branches that a fetch has changed; before has the refs
// from before it.
func (m *Manager) moveRemoteBranches(ctx context.Context, fetched, src *source, before map[string]string) error {
	after, err := m.projectRefs(ctx, fetched)
	if err != nil {
		return err
	}
	var changes strings.Builder
	for ref, id := range after {
		if strings.HasPrefix(ref, "refs/remotes/origin/") && before[ref] != id {
			changes.WriteString("update " + ref + " " + id + "\n")
		}
	}
	if changes.Len() == 0 {
		return nil
	}
	_, err = m.git.run(ctx, call{
		dir: m.data, repo: repository{gitDir: src.gitDir}, noFiles: true, stdin: strings.NewReader(changes.String()),
		args: []string{"update-ref", "--no-deref", "--stdin"},
	})
	return err
}
