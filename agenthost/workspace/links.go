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

// checkLinks returns CodeConflict if a commit, or one that comes to the remote with it, names a commit of another repository
// that no remote is known to have, unless the remote's base names it at the same path. remoteBase returns the commit that the
// base has at the remote, "" for none.
func (m *Manager) checkLinks(
	ctx context.Context, rec *record, mirror repository, tip, base string, remoteBase func() (string, error),
) error {
	tipLinks, err := m.linksOf(ctx, mirror, tip)
	if err != nil {
		return err
	}
	links, err := m.linksOnTheWay(ctx, rec, mirror, tip)
	if err != nil {
		return err
	}
	for path, id := range tipLinks {
		if !slices.Contains(links[path], id) {
			links[path] = append(links[path], id)
		}
	}
	if len(links) == 0 {
		return nil
	}
	at, err := remoteBase()
	if err != nil {
		return err
	}
	known, err := m.linksOfBase(ctx, rec, mirror, tip, base, at)
	if err != nil {
		return err
	}
	first, where, paths := "", "", 0
	for _, path := range slices.Sorted(maps.Keys(links)) {
		ids := slices.DeleteFunc(links[path], func(id string) bool { return slices.Contains(known[path], id) })
		missing, err := m.notAtItsRemote(ctx, rec, path, ids)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			if paths++; first == "" {
				first, where = missing[0], path
			}
		}
	}
	if paths == 0 {
		return nil
	}
	return errUnknownLink(where, first, paths-1)
}

// maxLinksOnTheWay bounds the links of earlier commits that are checked.
const maxLinksOnTheWay = 100

// linksOnTheWay returns the commits of other repositories that the commits up to tip bring, which no remote of the workspace is
// known to have, by path. If git cannot list their changes, because these are too many or objects are missing, it returns none:
// then the tip counts alone.
func (m *Manager) linksOnTheWay(ctx context.Context, rec *record, mirror repository, tip string) (map[string][]string, error) {
	args := []string{
		"log", "--format=", "--raw", "-z", "-m", "--root", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=none",
		"--diff-filter=AMT", "--ignore-missing", tip, "--not", "--remotes",
	}
	if rec.Base != "" {
		args = append(args, rec.Base)
	}
	if last := rec.Pushed; last != nil && last.Commit != "" {
		args = append(args, last.Commit)
	}
	out, err := m.git.run(ctx, call{repo: mirror, noFiles: true, limit: maxListing, args: append(args, "--")})
	if err != nil {
		m.log.Warn("the links of the commits before a branch's last one are not known", "workspace", rec.Key, "error", err)
		return map[string][]string{}, ctx.Err()
	}
	links, count := map[string][]string{}, 0
	facts := ""
	for part := range strings.SplitSeq(string(out), "\x00") {
		if rest, isFacts := strings.CutPrefix(strings.TrimLeft(part, "\n"), ":"); facts == "" && isFacts {
			facts = rest
			continue
		}
		// facts are: mode before, mode, id before, id, status
		if words := strings.Fields(facts); len(words) == 5 && words[1] == submoduleMode && !slices.Contains(links[part], words[3]) {
			if count++; count > maxLinksOnTheWay {
				break
			}
			links[part] = append(links[part], words[3])
		}
		facts = ""
	}
	return links, nil
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

// notAtItsRemote returns those of commits of which the repository at a path of the workspace does not know that a remote of it
// has them.
func (m *Manager) notAtItsRemote(ctx context.Context, rec *record, at string, commits []string) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	work, err := m.openTree(ctx, m.sessionIn(rec), m.rootDir(rec), &treereader.TreeRequest{Root: m.rootDir(rec)})
	if err != nil {
		return nil, err
	}
	defer work.close()
	for _, dir := range m.linkedGitDirs(work, m.rootDir(rec), at) {
		missing, err := m.remoteLacks(ctx, work.in(dir), commits)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // what cannot be read is not known
			m.log.Warn("a repository inside a workspace cannot be read", "workspace", rec.Key, "path", at, "error", err)
		case len(missing) == 0:
			return nil, nil
		default:
			commits = missing
		}
	}
	return commits, nil
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

// remoteLacks returns those of commits to which no remote-tracking ref of a repository leads.
func (m *Manager) remoteLacks(ctx context.Context, repo *tree, commits []string) ([]string, error) {
	refs, err := readRefs(repo)
	if err != nil {
		return nil, err
	}
	var tips []string
	for name, id := range refs {
		if strings.HasPrefix(name, "refs/remotes/") && len(id) == len(commits[0]) {
			tips = append(tips, id)
		}
	}
	others := slices.DeleteFunc(slices.Clone(commits), func(id string) bool { return slices.Contains(tips, id) })
	if len(tips) == 0 || len(others) == 0 {
		return others, nil
	}
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	format := "sha1"
	if len(commits[0]) == 64 {
		format = "sha256"
	}
	copied := repository{gitDir: filepath.Join(scratch, "git")}
	if err := errors.Join(checkSize(repo), m.initBare(ctx, copied.gitDir, format)); err != nil {
		return nil, err
	}
	if err := errors.Join(
		mirrorObjects(repo, filepath.Join(copied.gitDir, "objects")),
		repo.copyFile("shallow", filepath.Join(copied.gitDir, "shallow"), maxRefFile),
	); err != nil {
		return nil, err
	}
	var missing []string
	for _, id := range others {
		out, err := m.git.run(ctx, call{
			repo: copied, noFiles: true, stdin: strings.NewReader(id + "\n^" + strings.Join(tips, "\n^") + "\n"),
			args: []string{"rev-list", "--max-count=1", "--stdin"},
		})
		if err != nil || len(out) > 0 { // an error: an object is not there
			missing = append(missing, id)
		}
	}
	return missing, ctx.Err()
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
