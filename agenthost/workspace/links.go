package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// A commit can name commits of other repositories, its submodules. What is pushed is of no use to others if no remote has
// these. What the remote of a submodule has is known from the remote-tracking refs of its repository in the workspace.

// checkLinks returns CodeConflict if a commit names a commit of another repository that no remote is known to have, unless the
// remote's base names it at the same path. remoteBase returns the commit that the base has at the remote, "" for none.
func (m *Manager) checkLinks(
	ctx context.Context, rec *record, mirror repository, tip, base string, remoteBase func() (string, error),
) error {
	links, err := m.linksOf(ctx, mirror, tip)
	if err != nil || len(links) == 0 {
		return err
	}
	at, err := remoteBase()
	if err != nil {
		return err
	}
	known, err := m.linksOfBase(ctx, rec, mirror, tip, base, at)
	if err != nil {
		return err
	}
	var unknown []string
	for _, path := range slices.Sorted(maps.Keys(links)) {
		if slices.Contains(known[path], links[path]) {
			continue
		}
		has, err := m.isAtItsRemote(ctx, rec, path, links[path])
		if err != nil {
			return err
		}
		if !has {
			unknown = append(unknown, path)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return errUnknownLink(unknown[0], links[unknown[0]], len(unknown)-1)
}

func errUnknownLink(path, commit string, more int) error {
	others := ""
	if more > 0 {
		others = fmt.Sprintf(", and so for %d more", more)
	}
	return &protocol.Error{
		Code: protocol.CodeConflict,
		Message: fmt.Sprintf("The branch names commit %s of the repository at %q, which no remote is known to have%s",
			commit, truncate(path, 200), others),
		Hint: "Ask the agent to push or fetch in that repository. If it is no submodule, commit again: the host then takes its files",
	}
}

// linksOf returns the commits of other repositories that a tree names, by path.
func (m *Manager) linksOf(ctx context.Context, repo repository, tree string) (map[string]string, error) {
	out, err := m.git.run(ctx, call{
		repo: repo, noFiles: true, limit: maxListing * 8,
		args: []string{"ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tree},
	})
	if err != nil {
		return nil, err
	}
	links := map[string]string{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		facts, path, _ := strings.Cut(line, "\t")
		if id, ok := strings.CutPrefix(facts, submoduleMode+" commit "); ok {
			links[path] = id
		}
	}
	return links, nil
}

// linksOfBase returns the commits of other repositories that the remote's base names, now or where the branch began. If the
// workspace does not have the commit that the base has now, that which the project knows of counts.
func (m *Manager) linksOfBase(
	ctx context.Context, rec *record, mirror repository, tip, base, at string,
) (map[string][]string, error) {
	src, err := m.recordSource(ctx, rec)
	if err != nil {
		return nil, err
	}
	refs, err := m.projectRefs(ctx, src)
	if err != nil {
		return nil, err
	}
	known := map[string][]string{}
	for _, commit := range []string{at, refs["refs/remotes/origin/"+base]} {
		if commit == "" {
			continue
		}
		out, err := m.git.run(ctx, call{repo: mirror, noFiles: true, args: []string{"merge-base", "--all", "--end-of-options", tip, commit}})
		if exitedWith(err, 1) || exitedWith(err, 128) { // there is none, or the mirror does not have the commit
			out, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, tree := range append(strings.Fields(string(out)), commit) {
			links, err := m.linksOf(ctx, mirror, tree)
			if exitedWith(err, 128) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for path, id := range links {
				known[path] = append(known[path], id)
			}
		}
	}
	return known, nil
}

// maxLinkedObjects bounds the objects of another repository that are read, in bytes.
const maxLinkedObjects = 1 << 30

// isAtItsRemote reports whether the repository at a path of the workspace knows that a remote of it has a commit.
func (m *Manager) isAtItsRemote(ctx context.Context, rec *record, at, commit string) (bool, error) {
	work, err := m.openTree(ctx, m.sessionIn(rec), m.rootDir(rec), &treereader.TreeRequest{Root: m.rootDir(rec)})
	if err != nil {
		return false, err
	}
	defer work.close()
	for _, dir := range m.linkedGitDirs(work, m.rootDir(rec), at) {
		has, err := m.remoteHas(ctx, work.in(dir), commit)
		if has || ctx.Err() != nil {
			return has, ctx.Err()
		}
		if err != nil { // what cannot be read is not known
			m.log.Warn("a repository inside a workspace cannot be read", "workspace", rec.Key, "path", at, "error", err)
		}
	}
	return false, nil
}

// linkedGitDirs returns where the git directory of the repository at a path can be: where its .git says, and where git has that
// of a submodule without files.
func (m *Manager) linkedGitDirs(work *tree, root, at string) []string {
	dirs := []string{path.Join(".git/modules", at)}
	e, content, err := work.Read(treereader.Part{Path: at + "/.git", Limit: maxLooseRef, IsWhole: true})
	if err != nil {
		return dirs
	}
	target, isFile := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), "gitdir: ")
	switch {
	case e.Kind == treereader.KindDirectory:
		return []string{at + "/.git"}
	case e.Kind != treereader.KindFile || !isFile:
		return dirs
	}
	inside, isInside := strings.CutPrefix(path.Clean(target), filepath.ToSlash(root)+"/")
	if !path.IsAbs(target) {
		inside, isInside = path.Join(at, target), true
	}
	if isInside && inside != ".." && !strings.HasPrefix(inside, "../") {
		return []string{inside}
	}
	return dirs
}

// remoteHas reports whether a remote-tracking ref of a repository leads to a commit.
func (m *Manager) remoteHas(ctx context.Context, repo *tree, commit string) (bool, error) {
	refs, err := readRefs(repo)
	if err != nil {
		return false, err
	}
	var tips []string
	for name, id := range refs {
		if strings.HasPrefix(name, "refs/remotes/") && len(id) == len(commit) {
			tips = append(tips, id)
		}
	}
	if len(tips) == 0 || slices.Contains(tips, commit) {
		return len(tips) > 0, nil
	}
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return false, err
	}
	defer remove()
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	copied := repository{gitDir: filepath.Join(scratch, "git")}
	if err := errors.Join(checkSize(repo), m.initBare(ctx, copied.gitDir, format)); err != nil {
		return false, err
	}
	if err := errors.Join(
		mirrorObjects(repo, filepath.Join(copied.gitDir, "objects")),
		repo.copyFile("shallow", filepath.Join(copied.gitDir, "shallow"), maxRefFile),
	); err != nil {
		return false, err
	}
	out, err := m.git.run(ctx, call{
		repo: copied, noFiles: true, stdin: strings.NewReader(commit + "\n^" + strings.Join(tips, "\n^") + "\n"),
		args: []string{"rev-list", "--max-count=1", "--stdin"},
	})
	return err == nil && len(out) == 0, err
}

// checkSize returns an error if a repository has too many objects to copy them.
func checkSize(repo *tree) error {
	packs, err := repo.entries("objects/pack")
	var size int64
	for _, e := range packs {
		size += e.Size
	}
	if err == nil && size > maxLinkedObjects {
		err = errNotMirrored("objects/pack", maxLinkedObjects)
	}
	return err
}
